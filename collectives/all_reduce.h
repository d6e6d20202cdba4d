// all_reduce(): every rank ends with the sum of all ranks' vectors.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <span>

namespace rondo {

// outputs[r][i] = inputs[0][i] + inputs[1][i] + ... + inputs[n-1][i]   for every rank r and element i
//
// by the ring algorithm (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", 2009): reduce-scatter, then all-gather. README.md explains it.
//
// Shapes    One output, one input and one stream a rank, n = communicator.size(); all vectors have the same
//           size, any size. inputs[r] and outputs[r] lie on the rank's device; any float alignment will do,
//           16 bytes are faster. In place: inputs[r] is outputs[r]. Otherwise no vector that is written may
//           overlap another one, and the inputs stay as they are.
// Streams   streams[r] is a stream of rank r's device; ranks of one device may share a stream. The operation
//           starts when each stream's earlier work is done, and work enqueued on streams[r] afterwards finds
//           outputs[r] complete, without any wait of the host. While the streams are captured the operation
//           is recorded: all of them into one graph (fork them from one stream, join them back).
// Numerics  fp32 additions, n-1 for each element, in this order: the data is cut into n chunks (chunk_of() in
//           ring_schedule.h); chunk c is x[c] + x[c+1] + ... + x[n-1] + x[0] + ... + x[c-1], from left to
//           right, where x[r] is rank r's input. Data of more than n * communicator.slot_bytes() is first cut
//           into pieces of that size, and each piece into chunks.
// Same bits The result depends on the inputs, n, the size and slot_bytes only; all ranks get the same bits.
// Errors    bad_argument names the rank, and nothing has happened.
// Traffic   Each rank sends and receives 2 (n-1)/n * S bytes for vectors of S bytes.
[[nodiscard]] Status all_reduce(std::span<const VectorView<float>> outputs,
                                std::span<const VectorView<const float>> inputs, Communicator& communicator,
                                std::span<const cudaStream_t> streams);

// In place.
[[nodiscard]] Status all_reduce(std::span<const VectorView<float>> data, Communicator& communicator,
                                std::span<const cudaStream_t> streams);

}  // namespace rondo
