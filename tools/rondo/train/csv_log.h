// The log of a training run as CSV (RFC 4180 with \n line ends): a header line and one line per epoch.
#pragma once

#include <rondo/nn/train/training_report.h>

#include <span>
#include <string>

namespace rondo::program {

// Columns: epoch, train_loss, test_accuracy, seconds, then the seconds of each phase. Numbers are the
// shortest text that reads back as the same double; NaN is written as nan.
std::string csv_log(std::span<const EpochReport> epochs);

// Parses the output of csv_log(). `name` is the file's name. Throws a bad_argument Error that names the line.
std::vector<EpochReport> parse_csv_log(const std::string& name, const std::string& text);

}  // namespace rondo::program
