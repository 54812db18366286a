"""Published outputs as equations over records, and the engines that evolve a dataset which satisfies them."""
