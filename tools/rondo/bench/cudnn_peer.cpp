#include <rondo/bench/cudnn/cudnn_calls.h>
#include <rondo/tools/rondo/bench/cudnn_peer.h>
#include <rondo/tools/rondo/bench/library_peer.h>

#include <cstdlib>

namespace rondo::program {
namespace {

class CudnnPeer : public LibraryPeer {
 public:
  explicit CudnnPeer(const bench::CudnnFunctions& functions) : cudnn_(functions) {
    unsetenv("NVIDIA_TF32_OVERRIDE");  // it replaces the arithmetic that is compared
  }

  std::string name() const override { return concat("cuDNN ", cudnn_.version()); }

  void begin(const PeerWork& work) override {
    stop();  // the last call
    try {
      time("cuDNN", bench::cudnn_call(cudnn_, work.operation, work.request), *work.operands);
    } catch (const Error& error) {
      if (error.status().code() != StatusCode::bad_argument) throw;
      throw Error(bad_argument("--peer is 'cudnn': ", error.status().message()));
    }
  }

 private:
  bench::CudnnFunctions cudnn_;
};

}  // namespace

bench::CudnnFunctions load_cudnn() {
  return bench::find_cudnn(load_library("cudnn", {"libcudnn.so.9", "libcudnn.so"}));
}

std::unique_ptr<BenchPeer> make_cudnn_peer(const bench::CudnnFunctions& functions) {
  return std::make_unique<CudnnPeer>(functions);
}

}  // namespace rondo::program
