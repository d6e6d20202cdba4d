// The collective operations. These rules hold for all of them:
//
// Ranks     n = communicator.size() ranks. Spans with one entry per rank are in rank order. The data of rank
//           r are in the memory of communicator.device(r).
//           Between devices: memory of cudaMalloc, or memory of cudaMallocAsync or cuMemCreate whose owner
//           permits the access (cudaMemPoolSetAccess, cuMemSetAccess).
// Data      Vectors of any size, including 0. All ranks use the same dtype (dtype.h). Vectors may have any
//           alignment that the dtype allows. Operations are faster if all vectors have the same offset from a
//           16-byte boundary. An output must not overlap any other output or input, except in
//           place as each operation documents. Inputs are not modified unless they are also outputs.
// Streams   streams[r] is a stream of rank r's device. Ranks that share a device may share a stream. The
//           operation starts after the earlier work of all streams. Work enqueued on streams[r] afterwards
//           sees rank r's complete output and may overwrite rank r's input, without synchronising the host.
//           If the streams are being captured, the operation is recorded. All streams must be captured into
//           the same graph (fork them from one stream and join them back). Until that capture has ended, the
//           communicator belongs to it: a call with streams that are not part of it, from any thread, returns
//           bad_argument, and the capture stays valid.
// Results   The same inputs, n, size, algorithm and ring order give the same bits in every run. If all ranks
//           get the same result, its bits are identical on all of them. Each operation documents the order in
//           which each algorithm adds. reduction.h documents the arithmetic.
// Processes A communicator may span several processes (communicator.h). Then n is the number of ranks of all
//           processes, and each process passes only its own. All processes must call all_reduce() and
//           all_reduce_coalesced() in the same order with the same sizes, types and options. The call blocks
//           the host until all processes have made it (a captured call: until all have recorded it). The
//           enqueued work then waits for the other processes on the streams. Any mismatch returns
//           bad_argument on every process.
// Errors    bad_argument names the rank and the value; nothing was enqueued. Any other failure aborts the
//           communicator: the results of all ranks are invalid, and Communicator::state() returns the reason.
//           Work enqueued on the streams afterwards starts after the part of the operation that was enqueued,
//           so memory can be freed when the streams are idle. If CUDA refuses to capture a call of the
//           operation, only the capture is invalid: nothing has run, and the communicator can be used again.
//           Communicator::wait(streams, timeout) reports failures that occur later, while the work runs.
// Memory    The operations allocate no device memory and do not synchronise with a device.
// Queues    An operation enqueues a few calls per rank and per segment on each stream. The queue of a CUDA
//           stream holds about 1000 calls that have not run. If it is full, the calling thread blocks until
//           the device makes progress, and forever if a rank never arrives. To prevent this, call
//           Communicator::wait(streams, timeout) between operations or from another thread. CUDA does not
//           guarantee that it serves other threads while one thread is blocked.
//
// README.md describes the algorithms, docs/ring.md their cost, and docs/numerics.md what determines the bits
// of a result.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/collectives/types.h>
#include <rondo/kernels/core/status.h>

#include <span>
#include <vector>

namespace rondo {

// outputs[r][i] = inputs[0][i] (+) inputs[1][i] (+) ... (+) inputs[n-1][i]   for every rank r
//
// All vectors have the same size. In place: inputs[r] is outputs[r].
// Order     direct, root: rank 0's input (+) rank 1's (+) ... (+) rank n-1's, for every element.
//           ring: the vector is cut into n chunks (chunk_of() in ring_schedule.h). x[p] is the input of the
//           rank at position p of the ring. Chunk c is
//             x[c] (+) x[c+1] (+) ... (+) x[n-1] (+) x[0] (+) ... (+) x[c-1].
//           hierarchical: first each group of m ranks adds its inputs, in the order of a ring of m ranks. The
//           result is the group's partial sum, which is not rounded. Then the partial sums are added: group
//           0's (+) group 1's (+) ... (+) the last group's. Groups of one rank have the order of direct, a
//           single group has the order of ring. Across processes, each process is a group.
// Traffic   Bytes that a rank sends, for vectors of S bytes. It receives as many.
//           ring, direct: 2 (n-1)/n S.
//           root: (n-1) S by rank 0, S by each other rank.
//           hierarchical: 2 (m-1)/m S inside the group, and 2 (g-1)/g S/m to the other groups, of g groups.
//           ring and hierarchical send partial sums of 16-bit floats as fp32, which is twice as many bytes. A
//           ring of n ranks sends inputs in step 0, partial sums in steps 1 to n-2, and finished sums in the
//           other n-1 steps. Groups of one rank send no partial sums, only inputs and finished sums.
[[nodiscard]] Status all_reduce(RankOutputs outputs, RankInputs inputs, const ReduceOptions& options,
                                Communicator& communicator, RankStreams streams);
[[nodiscard]] Status all_reduce(RankOutputs data, const ReduceOptions& options, Communicator& communicator,
                                RankStreams streams);  // in place

// All-reduces many vectors in place. data[r][k] is vector k of rank r; its size and type are the same for
// every r. Consecutive vectors of one type are packed into the communicator's bucket, as many as fit, and
// reduced together. A vector larger than the bucket is reduced where it is.
// Order     As all_reduce() of each bucket. For direct and root, packing does not change the order. For ring,
//           the chunks are those of the bucket, in which each vector begins at a multiple of 16 bytes.
[[nodiscard]] Status all_reduce_coalesced(std::span<const std::vector<DataView>> data,
                                          const ReduceOptions& options, Communicator& communicator,
                                          RankStreams streams);

// outputs[r][i] = inputs[0][r * m + i] (+) ... (+) inputs[n-1][r * m + i]   with m = outputs[r].size
//
// Inputs have n * m elements. In place: outputs[r] is block r of inputs[r].
// Order     direct: from rank 0 to rank n-1.
//           ring: the block of the rank at position p is x[p+1] (+) ... (+) x[n-1] (+) x[0] (+) ... (+) x[p].
// Traffic   Each rank sends and receives (n-1) m elements.
[[nodiscard]] Status reduce_scatter(RankOutputs outputs, RankInputs inputs, const ReduceOptions& options,
                                    Communicator& communicator, RankStreams streams);

// outputs[r][s * m + i] = inputs[s][i]   with m = inputs[r].size, for every r and s
//
// Outputs have n * m elements. In place: inputs[r] is block r of outputs[r]. Algorithms: ring, direct.
[[nodiscard]] Status all_gather(RankOutputs outputs, RankInputs inputs, Algorithm algorithm,
                                Communicator& communicator, RankStreams streams);

// outputs[r][i] = input[i], where `input` is on the device of rank `root`. In place: input is outputs[root].
// Algorithms: ring (each rank forwards the data to the next rank in segments of at most a slot) and direct
// (root copies to every rank).
[[nodiscard]] Status broadcast(RankOutputs outputs, ConstDataView input, int root, Algorithm algorithm,
                               Communicator& communicator, RankStreams streams);

// output[i] = inputs[0][i] (+) ... (+) inputs[n-1][i], on the device of rank `root`. In place: output is
// inputs[root].
// Order     direct: from rank 0 to rank n-1.
//           ring: x[p+1] (+) ... (+) x[n-1] (+) x[0] (+) ... (+) x[p], where p is the position of root.
[[nodiscard]] Status reduce(DataView output, RankInputs inputs, int root, const ReduceOptions& options,
                            Communicator& communicator, RankStreams streams);

// outputs[r][s * m + i] = inputs[s][r * m + i]: every rank sends block r of its input to rank r. Uses the
// direct algorithm. Cannot work in place. All vectors have n * m elements.
[[nodiscard]] Status all_to_all(RankOutputs outputs, RankInputs inputs, Communicator& communicator,
                                RankStreams streams);

// The same arithmetic without a communicator: output[i] = inputs[0][i] (+) ... (+) inputs[k-1][i] on
// `stream`, with 1 <= k <= kMaxRanks. All vectors are on the current device. The output may be one of the
// inputs. An average divides by k. With balanced_tree in both steps, summing 2^j vectors on each of 2^i ranks
// and then over the ranks gives the same bits as summing all 2^(i+j) vectors at once. The first call loads
// the kernel. Blocks while the queue of `stream` is full (docs/gpu.md).
[[nodiscard]] Status reduce_on_device(DataView output, RankInputs inputs, Reduction reduction, SumOrder order,
                                      cudaStream_t stream);

// Work enqueued on streams[r] after this call starts when all earlier work of all the streams is done.
[[nodiscard]] Status barrier(Communicator& communicator, RankStreams streams);

}  // namespace rondo
