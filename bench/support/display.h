// Display: what a benchmark program prints.
#pragma once

#include <benchmark/benchmark.h>

#include <rondo/kernels/core/text.h>

#include <algorithm>
#include <memory>
#include <string>

namespace rondo::bench {

// Google Benchmark's own output, as its flags ask for it, without the warning that Google Benchmark was built
// without NDEBUG, as the packages of Debian and Ubuntu are: the times come from the device or from a clock
// around many calls, not from that library's loop. All other lines stay.
class Display : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override {
    TextStream text;
    inner_->SetErrorStream(&text);
    const bool go_on = inner_->ReportContext(context);
    inner_->SetErrorStream(&GetErrorStream());
    const std::string all = text.str();
    for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      end = std::min(all.find('\n', begin), all.size() - 1) + 1;
      const std::string line = all.substr(begin, end - begin);
      if (line.find("Library was built as DEBUG") == std::string::npos) GetErrorStream() << line;
    }
    return go_on;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) failed_ = failed_ || run.error_occurred;
    inner_->ReportRuns(runs);
  }
  void Finalize() override { inner_->Finalize(); }

  // Whether a benchmark failed.
  bool failed() const { return failed_; }

 private:
  const std::unique_ptr<BenchmarkReporter> inner_{benchmark::CreateDefaultDisplayReporter()};
  bool failed_ = false;
};

}  // namespace rondo::bench
