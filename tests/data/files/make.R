set.seed(7)
n <- 60
people <- data.frame(
  age = sample(18:90, n, TRUE), pay = round(rgamma(n, 2, 0.02), 2), sex = factor(sample(c("f", "m"), n, TRUE)),
  grade = factor(sample(c("low", "mid", "high"), n, TRUE), levels = c("low", "mid", "high"), ordered = TRUE),
  town = sample(c("K\u00f6ln", "\u00c5rhus", NA), n, TRUE), smokes = sample(c(TRUE, FALSE, NA), n, TRUE),
  day = as.Date("2020-01-01") + sample(0:400, n, TRUE), seen = as.POSIXct("2020-01-01 12:00:00", tz = "UTC") + sample(0:10^6, n, TRUE),
  stringsAsFactors = FALSE)
people$age[c(3, 9)] <- NA
people$pay[5] <- NA
saveRDS(people, "people.rds")
saveRDS(people, "people_v2_xz.rds", version = 2, compress = "xz")
saveRDS(people, "people_plain.rds", compress = FALSE)
saveRDS(people, "people_ascii.rds", ascii = TRUE)
ranges <- data.frame(i = 1:60, x = as.numeric(1:60), w = as.character(1:60), g = rep(c("a", "b"), 30))
attr(ranges$x, "label") <- "a title"
saveRDS(ranges, "ranges.rds")
saveRDS(function(x) x + 1, "function.rds")
saveRDS(list(1, 2), "list.rds")
listed <- data.frame(a = rep(1:3, 20), b = rep(c("x", "y"), 30)); listed$l <- I(lapply(1:60, function(i) i))
saveRDS(listed, "listed.rds")
save(people, file = "people.RData")
write.csv(people, "people_r.csv", row.names = FALSE)
write.csv2(people, "people_r2.csv", row.names = FALSE)
write.table(people, "people_table.txt")
write.csv(people, "people_rownames.csv")
library(haven)
people <- readRDS("people.rds")
people$town <- enc2utf8(ifelse(is.na(people$town), "", people$town)); people$smokes <- as.numeric(people$smokes)
attr(people$age, "label") <- "Age in years"
write_sas(people, "people.sas7bdat")
write_xpt(people, "people.xpt", version = 8)
