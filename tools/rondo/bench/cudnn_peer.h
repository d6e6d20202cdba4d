// The peer cudnn of `rondo bench`: cuDNN, loaded when it is asked for. Rondo does not link it.
#pragma once

#include <rondo/bench/cudnn/cudnn_functions.h>
#include <rondo/tools/rondo/bench/peer.h>

namespace rondo::program {

// The functions of the system's libcudnn. Throws a bad_argument Error without one, and on the CPU executor.
bench::CudnnFunctions load_cudnn();

std::unique_ptr<BenchPeer> make_cudnn_peer(const bench::CudnnFunctions& functions);

}  // namespace rondo::program
