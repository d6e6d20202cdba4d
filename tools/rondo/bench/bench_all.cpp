#include <rondo/kernels/core/text.h>
#include <rondo/nn/io/printable.h>
#include <rondo/tools/rondo/bench/bench_all.h>
#include <rondo/tools/rondo/bench/peer.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <cmath>
#include <utility>

namespace rondo::program {
namespace {

// The geometric mean of the peer's time over Rondo's.
class MeanRatio {
 public:
  void add(double ratio) { sum_ += std::log(ratio), ++count_; }
  int64_t count() const { return count_; }
  std::string text() const { return concat(fixed(std::exp(sum_ / static_cast<double>(count_)), 2), "x"); }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

std::string call_name(const BenchReport& report, const BenchRow& row) {
  return concat(row.name, row.pass.empty() ? "" : concat(", ", row.pass),
                report.arguments.cache == BenchCache::both ? (row.is_cold ? ", cold" : ", hot") : "");
}

void show_means(const std::vector<BenchReport>& reports, std::ostream& out) {
  MeanRatio of_all;
  std::vector<std::pair<std::string, MeanRatio>> means;
  for (const BenchReport& report : reports)
    for (const BenchRow& row : report.rows) {
      if (row.peer.samples.empty()) continue;
      if (means.empty() || means.back().first != report.arguments.operation)
        means.emplace_back(report.arguments.operation, MeanRatio());
      const double ratio = row.peer.seconds.median / row.times.seconds.median;
      means.back().second.add(ratio);
      of_all.add(ratio);
    }
  if (means.empty()) return;
  std::vector<TextRow> table = {{"geometric mean", "calls", "vs peer"}};
  means.emplace_back("all", of_all);
  for (const auto& [name, mean] : means) table.push_back({name, grouped(mean.count()), mean.text()});
  out << "\n";
  show_table(table, out, 1);
}

}  // namespace

const std::vector<BenchCase>& bench_cases() {
  static const std::vector<BenchCase> cases = {
      {"gemm", "", "m=512,n=512,k=512"},
      {"gemm", "", "m=1024,n=1024,k=1024"},
      {"gemm", "", "m=256,n=256,k=64,batch=32"},
      {"conv", "", "n=8,h=28,w=28,c=64,k=64"},
      {"conv", "", "n=8,h=14,w=14,c=128,k=128"},
      {"conv", "", "n=8,h=28,w=28,c=64,k=128,r=1,s=1,stride=2,pad=0"},
      {"conv_transpose", "", "n=8,h=14,w=14,c=128,k=64"},
      {"conv_transpose", "", "n=8,h=14,w=14,c=64,k=64,r=3,s=3,stride=1,pad=1"},
      {"pool", "max", "n=32,h=28,w=28,c=64"},
      {"pool", "max", "n=32,h=28,w=28,c=64,window=3,stride=2,pad=1"},
      {"pool", "avg", "n=32,h=28,w=28,c=64"},
      {"pool", "adaptive_avg", "n=32,h=14,w=14,c=256,p=1,q=1"},
      {"norm", "batch", "rows=25088,channels=64"},
      {"norm", "batch", "rows=6272,channels=256"},
      {"norm", "layer", "rows=8192,cols=1024"},
      {"norm", "rms", "rows=8192,cols=1024"},
      {"norm", "group", "n=32,h=28,w=28,c=64,groups=32"},
      {"loss", "softmax_cross_entropy", "rows=8192,classes=1000"},
      {"loss", "softmax_cross_entropy", "rows=65536,classes=10"},
      {"loss", "binary", "rows=8192,cols=100"},
      {"softmax", "softmax", "rows=8192,cols=1024"},
      {"softmax", "softmax", "rows=65536,cols=64"},
      {"softmax", "log_softmax", "rows=8192,cols=1024"},
      {"layout", "transpose", "rows=2048,cols=2048"},
      {"layout", "transpose", "rows=512,cols=512,batch=16"},
      {"layout", "nchw_to_nhwc", "n=32,h=28,w=28,c=64"},
      {"reduce", "bias_gradient", "rows=65536,cols=256"},
      {"reduce", "sum_rows", "rows=65536,cols=256"},
      {"reduce", "sum_columns", "rows=8192,cols=1024"},
      {"reduce", "argmax_rows", "rows=8192,cols=1024"},
      {"activation", "relu", "size=4194304"},
      {"activation", "gelu", "size=4194304"},
      {"activation", "sigmoid", "size=65536"},
      {"elementwise", "add", "size=4194304"},
      {"elementwise", "exp", "size=4194304"},
      {"elementwise", "add_bias", "rows=65536,cols=64"},
      {"optimizer", "sgd", "size=4194304"},
      {"optimizer", "adam", "size=4194304"},
  };
  return cases;
}

std::vector<BenchReport> run_bench_all(const BenchArguments& arguments) {
  const std::unique_ptr<BenchPeer> peer = make_peer(arguments);
  std::vector<BenchReport> reports;
  for (const BenchCase& each : bench_cases()) {
    BenchArguments of = arguments;
    of.operation = each.operation, of.kind = each.kind, of.shape = each.shape;
    for (const std::string& pass : passes_of(of)) {
      of.pass = pass;
      try {
        reports.push_back(run_bench(of, peer.get()));
      } catch (const PeerRefusal& refusal) {
        reports.push_back(run_bench(of, nullptr));
        reports.back().peer_refusal = refusal.status().message();
      }
    }
  }
  return reports;
}

void show_bench_all_text(const std::vector<BenchReport>& reports, std::ostream& out) {
  const BenchArguments& a = reports.front().arguments;
  out << "every family of operators, " << name_of(a.type) << ", "
      << (a.cache == BenchCache::both ? "cold and hot" : name_of(a.cache)) << " calls\n";
  show_bench_machine(reports.front(), out);
  const bool has_peer = !a.peer.empty();
  for (const BenchReport& report : reports)
    if (!report.peer.empty()) {
      out << "peer: " << printable(report.peer) << ", in turns\n";
      break;
    }
  out << "\n";
  TextRow head = {"call", "bound by", "us", "GFLOP/s", "GB/s", "share"};
  if (has_peer) head.insert(head.end(), {"peer us", "vs peer"});
  std::vector<TextRow> table = {head};
  for (const BenchReport& report : reports)
    for (const BenchRow& row : report.rows) {
      const double seconds = row.times.seconds.median;
      TextRow cells = {call_name(report, row),
                       row.bound.name,
                       microseconds_text(seconds),
                       row.counts_flops() ? general(row.work.flops / seconds * 1e-9, 4) : "",
                       general(row.work.bytes / seconds * 1e-9, 4),
                       concat(fixed(100 * row.share(), 1), " %")};
      if (has_peer && row.peer.samples.empty()) cells.insert(cells.end(), {"-", "-"});
      if (has_peer && !row.peer.samples.empty())
        cells.insert(cells.end(), {microseconds_text(row.peer.seconds.median),
                                   concat(fixed(row.peer.seconds.median / seconds, 2), "x")});
      table.push_back(cells);
    }
  show_table(table, out, 2);
  show_means(reports, out);
  for (const BenchReport& report : reports)
    if (!report.peer_refusal.empty())
      out << "- " << call_name(report, report.rows.front()) << ": " << printable(report.peer_refusal) << "\n";
}

}  // namespace rondo::program
