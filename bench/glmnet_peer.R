# glmnet as a peer: `glmnet_peer.R BINARY`, as lasso_peer.py writes it, then a line "LAMBDA_RATIO LAMBDAS MIX THRESH" for each run,
# answered by a JSON line with the objective at each penalty. Without intercept, columns as they are, glmnet's own choice between
# covariance and naive updates but for 500 columns, where it is asked for the former, which is faster.
suppressMessages({library(glmnet); library(Matrix)})
input <- file(commandArgs(TRUE)[1], "rb")
head <- readBin(input, "integer", 4)
n <- head[1]; p <- head[2]
y <- readBin(input, "double", n)
if (head[4] == 1) {
  x <- matrix(readBin(input, "double", as.double(n) * p), n, p)
} else {
  starts <- readBin(input, "integer", p + 1)
  rows <- readBin(input, "integer", head[3])
  x <- new("dgCMatrix", i = rows, p = starts, x = readBin(input, "double", head[3]), Dim = c(n, p))
}
close(input)
how <- if (p <= 500) "covariance" else "naive"
asked <- file("stdin", "r")
while (length(line <- readLines(asked, n = 1)) > 0) {
  word <- as.double(strsplit(line, " ")[[1]])
  first <- max(abs(as.vector(crossprod(x, y)))) / n / word[3]
  lambda <- first * word[1]^((seq_len(word[2]) - 1) / (word[2] - 1))
  before <- proc.time()
  model <- glmnet(x, y, alpha = word[3], lambda = lambda, standardize = FALSE, intercept = FALSE, thresh = word[4], type.gaussian = how)
  spent <- proc.time() - before
  value <- sapply(seq_along(lambda), function(k) {
    b <- model$beta[, k]
    rest <- y - as.vector(x %*% b)
    sum(rest^2) / (2 * n) + lambda[k] * (word[3] * sum(abs(b)) + (1 - word[3]) / 2 * sum(b^2))
  })
  cat(sprintf('{"cpu_s": %.4f, "objectives": [%s]}\n', spent[1] + spent[2], paste(sprintf("%.15g", value), collapse = ", ")))
  flush(stdout())
}
