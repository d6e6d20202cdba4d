#include <rondo/tools/rondo/bench/cublas_peer.h>
#include <rondo/tools/rondo/bench/cudnn_peer.h>

namespace rondo::program {

std::unique_ptr<BenchPeer> make_peer(const BenchArguments& arguments) {
  if (arguments.peer.empty()) return nullptr;
  if (arguments.peer == "cublas") return make_cublas_peer(load_cublas());
  if (arguments.peer == "cudnn") return make_cudnn_peer(load_cudnn());
  return make_torch_peer(arguments.python);
}

}  // namespace rondo::program
