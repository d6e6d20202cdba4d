// The figures of a training run as CSV (RFC 4180, lines end with \n): one line an epoch under one header
// line.
#pragma once

#include <rondo/nn/train/training_report.h>

#include <span>
#include <string>

namespace rondo::program {

// Columns: epoch, train_loss, test_accuracy, seconds, then a column of seconds for each phase. Numbers are
// the shortest that read back as the same double; not-a-number is written nan.
std::string csv_log(std::span<const EpochReport> epochs);

// What csv_log() wrote. `name` is the file's, for messages. Throws a bad_argument Error that names the line.
std::vector<EpochReport> parse_csv_log(const std::string& name, const std::string& text);

}  // namespace rondo::program
