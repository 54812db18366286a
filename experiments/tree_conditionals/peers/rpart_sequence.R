# Rows from a sequence of rpart trees: Rscript rpart_sequence.R TRAIN.csv OUT.csv. Prints the CPU seconds of fit and sample.
# The rules of synthpop 1.8's default (`syn` with method "cart"): columns in order, the first drawn with replacement, each later one from a
# tree on all before it with minbucket 5 and cp 1e-8; numbers from the records of the leaf, categories by the leaf's shares; missing numbers
# as a category of their own first. Written anew: synthpop itself is not among the distribution's packages.
files <- commandArgs(trailingOnly = TRUE)
suppressMessages(library(rpart))
set.seed(1)
train <- read.csv(files[1], check.names = FALSE, stringsAsFactors = TRUE)
names(train) <- paste0("c", seq_along(train))
for (j in names(train)) if (!is.factor(train[[j]]) && length(unique(train[[j]])) <= 10) train[[j]] <- addNA(factor(train[[j]]), ifany = TRUE)
for (j in names(train)) if (is.factor(train[[j]])) train[[j]] <- addNA(train[[j]], ifany = TRUE)
began <- proc.time()
n <- nrow(train)

pick <- function(from, size) from[sample.int(length(from), size, replace = TRUE)]

drawn_column <- function(y, x, xp) {
  if (length(unique(y)) == 1) return(rep(y[1], nrow(xp)))
  if (!is.factor(y)) {
    fit <- rpart(y ~ ., data = cbind(y = y, x), method = "anova", minbucket = 5, cp = 1e-8, xval = 0)
    leaf <- as.integer(row.names(fit$frame))[fit$where]
    fit$frame$yval <- as.numeric(row.names(fit$frame))
    new_leaf <- predict(fit, newdata = xp)
    out <- numeric(nrow(xp))
    for (l in unique(new_leaf)) out[new_leaf == l] <- pick(y[leaf == l], sum(new_leaf == l))
    return(out)
  }
  coded <- factor(as.integer(y))
  fit <- rpart(y ~ ., data = cbind(y = coded, x), method = "class", minbucket = 5, cp = 1e-8, xval = 0)
  shares <- predict(fit, newdata = xp)
  drawn <- colnames(shares)[1 + rowSums(runif(nrow(xp)) > t(apply(shares, 1, cumsum)) - 1e-12)]
  y[match(drawn, as.character(as.integer(y)))]
}

filled <- train  # rpart splits on numbers without gaps; where they are missing stands the mean, beside the category that says so
new <- train[pick(seq_len(n), n), 1, drop = FALSE]
x <- xp <- NULL
for (j in names(train)) {
  y <- train[[j]]
  if (is.null(x)) {
    out <- pick(y, n)
  } else if (!is.factor(y) && anyNA(y)) {
    gone <- drawn_column(factor(is.na(y)), x, xp) == "TRUE"
    out <- rep(NA_real_, n)
    out[!gone] <- drawn_column(y[!is.na(y)], x[!is.na(y), , drop = FALSE], xp[!gone, , drop = FALSE])
  } else {
    out <- drawn_column(y, x, xp)
  }
  new[[j]] <- out
  add <- function(values) {
    if (is.factor(values)) return(setNames(data.frame(factor(as.integer(values), levels = seq_along(levels(y)))), j))
    if (!anyNA(y)) return(setNames(data.frame(values), j))
    gap <- is.na(values)
    values[gap] <- mean(y, na.rm = TRUE)
    setNames(data.frame(values, factor(gap, levels = c(FALSE, TRUE))), c(j, paste0(j, "gap")))
  }
  x <- if (is.null(x)) add(y) else cbind(x, add(y))
  xp <- if (is.null(xp)) add(out) else cbind(xp, add(out))
}
spent <- sum((proc.time() - began)[1:2])
names(new) <- names(read.csv(files[1], check.names = FALSE, nrows = 1))
for (j in names(new)) if (is.double(new[[j]])) new[[j]] <- ifelse(is.na(new[[j]]), NA, sprintf("%.17g", new[[j]]))
write.csv(new, files[2], row.names = FALSE, na = "", quote = TRUE)
cat(sprintf("%.2f\n", spent))
