#include <rondo/tools/rondo/bench/peer.h>

namespace rondo::program {

std::unique_ptr<BenchPeer> make_peer(const BenchArguments& arguments) {
  if (arguments.peer.empty()) return nullptr;
  return make_torch_peer(arguments.python);
}

}  // namespace rondo::program
