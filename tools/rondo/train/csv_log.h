// The log of a training run as CSV (RFC 4180 with \n line ends): a header line and one line per epoch.
#pragma once

#include <rondo/nn/train/training_report.h>

#include <span>
#include <string>

namespace rondo::program {

// Columns: epoch, train_loss, test_accuracy (0 to 1), seconds, the seconds of each phase, and learning_rate,
// that of the epoch's last step. Numbers are the shortest text that reads back as the same double; NaN is
// written as nan.
std::string csv_log(std::span<const EpochReport> epochs);

// Parses the output of csv_log(), also with the line ends of other systems (\r\n), and the logs of earlier
// versions, which have no column learning_rate: it is NaN then. Only the epoch can't be NaN. `name` is the
// file's name. Throws a bad_argument Error that names the line and the value.
std::vector<EpochReport> parse_csv_log(const std::string& name, const std::string& text);

}  // namespace rondo::program
