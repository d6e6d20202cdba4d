#include <rondo/kernels/core/status.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/io/c_locale.h>
#include <rondo/tools/rondo/bench/peer.h>
#include <rondo/tools/rondo/support/child_process.h>

#include <cuda_runtime_api.h>
#include <rondo_torch_peer.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <thread>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

// The processors that Rondo computes with, so that PyTorch has as many. A GPU: not used.
int worker_threads() {
  cudaDeviceProp device;
  RONDO_CUDA_THROW(cudaGetDeviceProperties(&device, 0));
  const int processors = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::min(device.multiProcessorCount, processors);
}

class TorchPeer : public BenchPeer {
 public:
  explicit TorchPeer(const std::string& python) : process_("--python", {python, "-c", kTorchPeer}) {
    name_ = ask({{"do", "start"}, {"device", platform()}, {"threads", worker_threads()}}).at("name");
  }

  std::string name() const override { return name_; }

  void begin(const PeerWork& work) override {
    const bench::OperatorRequest& r = work.request;
    Json shape;
    for (const auto& [name, size] : r.shape.sizes()) shape[name] = size;
    ask({{"do", "begin"},
         {"operator", work.operation},
         {"kind", r.kind},
         {"pass", r.pass},
         {"type", name_of(r.type)},
         {"math", name_of(r.math)},
         {"transpose_a", r.transpose_a},
         {"transpose_b", r.transpose_b},
         {"shape", shape},
         {"sets", work.operands->count()}});
  }

  void sample(bool cold, int64_t count, std::vector<double>& seconds) override {
    const Json answer = ask({{"do", "sample"}, {"cold", cold}, {"count", count}});
    for (const Json& each : answer.at("seconds")) seconds.push_back(each);
  }

  int64_t calls_per_sample(bool) const override { return 1; }

 private:
  Json ask(const Json& question) {
    const CLocale c_locale;  // the parser follows the locale
    Json answer = Json::parse(process_.ask(question.dump()), nullptr, /*allow_exceptions=*/false);
    if (!answer.is_object())
      throw Error(Status(StatusCode::device_failed, "--peer torch: the Python process answered no JSON"));
    // What the user can change: another Python, another operator.
    if (answer.contains("error"))
      throw Error(bad_argument("--peer torch: ", answer.at("error").get<std::string>()));
    return answer;
  }

  ChildProcess process_;
  std::string name_;
};

}  // namespace

std::unique_ptr<BenchPeer> make_torch_peer(const std::string& python) {
  return std::make_unique<TorchPeer>(python);
}

}  // namespace rondo::program
