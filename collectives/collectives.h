// The collective operations. What holds for all of them:
//
// Ranks     n = communicator.size() ranks; whatever is given one a rank is given in the order of the ranks. Data of
//           rank r lie on communicator.device(r).
// Data      Vectors of any size, also 0, of one type for all ranks (dtype.h); any alignment that the type has, but
//           16 bytes, or the same distance from that everywhere, is quicker. What is written must not overlap
//           anything else that is written or read, except that an operation may work in place as it says.
//           Inputs that are not the output stay as they are.
// Streams   streams[r] is a stream of rank r's device; ranks of one device may share a stream. The operation starts
//           when each stream's earlier work is done, and work enqueued on streams[r] afterwards finds rank r's
//           output complete and may overwrite rank r's input, without any wait of the host. While the streams
//           are captured the operation is recorded: all of them into one graph (fork them from one stream, join
//           them back).
// Results   Same inputs, same n, same size, same algorithm and ring order: same bits, in every run; where all ranks
//           get the same result, the same bits too. Each algorithm says in which order it adds.
//           reduction.h has the arithmetic.
// Processes A communicator may span several processes (communicator.h): n is then the number of all ranks, and every
//           process gives its own. all_reduce() and all_reduce_coalesced() must be called by all processes, in the same
//           order and with the same sizes, types and options; the call blocks until the others have come to it too
//           (a recorded one when it is recorded), and the work then waits for theirs on the streams. What differs is
//           a bad_argument in all of them.
// Errors    bad_argument names the rank and the value, and nothing has happened. Any other failure aborts the
//           communicator: no rank's result can be trusted then, and Communicator::state() tells why. A failure
//           that comes later, while the work runs, is told by Communicator::wait().
// Memory    No device memory is allocated, and nobody waits for a device.
// Queues    An operation puts some calls on each stream for each rank and each segment of the data. The queue of
//           a CUDA stream holds about a thousand calls that have not run. Beyond that the calling thread blocks
//           until the devices have come further, and for ever where a rank never arrives: call
//           Communicator::wait() in between, or from another thread. CUDA does not promise that it serves
//           other threads while one is blocked.
//
// README.md tells the algorithms, docs/ring.md what they cost, docs/numerics.md what the bits depend on.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/collectives/communicator.h>
#include <rondo/collectives/data_view.h>
#include <rondo/collectives/reduction.h>
#include <rondo/kernels/core/status.h>

#include <span>
#include <vector>

namespace rondo {

using RankOutputs = std::span<const DataView>;
using RankInputs = std::span<const ConstDataView>;
using RankStreams = std::span<const cudaStream_t>;

struct ReduceOptions {
  Reduction reduction = Reduction::sum;
  Algorithm algorithm = Algorithm::automatic;
  SumOrder order = SumOrder::left_to_right;  // balanced_tree: by the algorithms direct and root only
};

// outputs[r][i] = inputs[0][i] (+) inputs[1][i] (+) ... (+) inputs[n-1][i]   for every rank r
//
// All vectors have one size. In place: inputs[r] is outputs[r].
// Order     direct, root: from rank 0 to rank n-1, for every element. ring: the data is cut into n chunks
//           (chunk_of() in ring_schedule.h); chunk c is x[c] (+) x[c+1] (+) ... (+) x[n-1] (+) x[0] (+) ... (+) x[c-1],
//           where x[p] is the input of the rank at position p of the ring. hierarchical: each group of m ranks adds
//           in the order of a ring of m, and the groups' partial sums, which are not rounded, are added from group 0
//           to the last; groups of one rank give the order of direct, one group that of the ring. Across processes it
//           is the same, with a group a process.
// Traffic   ring, direct: each rank sends and receives 2 (n-1)/n * S bytes for vectors of S bytes; in the ring, sums
//           of 16-bit floats travel as fp32, so that the first half has twice the bytes. root: rank 0 receives
//           (n-1) S and sends as much. hierarchical, with g groups: each rank 2 (m-1)/m S inside its group and
//           2 (g-1)/g S/m between groups.
[[nodiscard]] Status all_reduce(RankOutputs outputs, RankInputs inputs, const ReduceOptions& options,
                                Communicator& communicator, RankStreams streams);
[[nodiscard]] Status all_reduce(RankOutputs data, const ReduceOptions& options, Communicator& communicator,
                                RankStreams streams);  // in place

// Many vectors at once, in place: data[r][k] is vector k of rank r, of the same size and type for every r. Neighbours
// of one type are packed together into the communicator's bucket, as many as it takes, and reduced as one; a vector
// larger than the bucket is reduced where it lies.
// Order     As all_reduce() of each bucket: direct and root don't notice, for the ring the chunks are those of
//           the bucket, in which each vector begins at a multiple of 16 bytes.
[[nodiscard]] Status all_reduce_coalesced(std::span<const std::vector<DataView>> data,
                                     const ReduceOptions& options, Communicator& communicator,
                                     RankStreams streams);

// outputs[r][i] = inputs[0][r * m + i] (+) ... (+) inputs[n-1][r * m + i]   with m = outputs[r].size
//
// Inputs have n * m elements. In place: outputs[r] is block r of inputs[r].
// Order     direct: from rank 0 to rank n-1. ring: the block of the rank at position p is x[p+1] (+) ... (+) x[n-1]
//           (+) x[0] (+) ... (+) x[p].
// Traffic   Each rank sends and receives (n-1) m elements.
[[nodiscard]] Status reduce_scatter(RankOutputs outputs, RankInputs inputs, const ReduceOptions& options,
                                    Communicator& communicator, RankStreams streams);

// outputs[r][s * m + i] = inputs[s][i]   with m = inputs[r].size, for every r and s; by ring or direct.
//
// Outputs have n * m elements. In place: inputs[r] is block r of outputs[r].
[[nodiscard]] Status all_gather(RankOutputs outputs, RankInputs inputs, Algorithm algorithm,
                                Communicator& communicator, RankStreams streams);

// outputs[r][i] = input[i], where `input` is on the device of rank `root`; by ring (from neighbour to neighbour, in
// segments of a slot) or direct (root copies to each). In place: input is outputs[root].
[[nodiscard]] Status broadcast(RankOutputs outputs, ConstDataView input, int root, Algorithm algorithm,
                               Communicator& communicator, RankStreams streams);

// output[i] = inputs[0][i] (+) ... (+) inputs[n-1][i], on the device of rank `root`. In place: output is inputs[root].
// Order     direct: from rank 0 to rank n-1. ring: x[p+1] (+) ... (+) x[n-1] (+) x[0] (+) ... (+) x[p], p the
//           position of root.
[[nodiscard]] Status reduce(DataView output, RankInputs inputs, int root, const ReduceOptions& options,
                            Communicator& communicator, RankStreams streams);

// outputs[r][s * m + i] = inputs[s][r * m + i]: every rank sends block r of its input to rank r. Direct; not in place.
// The sizes n * m are those of the vectors and must be multiples of n.
[[nodiscard]] Status all_to_all(RankOutputs outputs, RankInputs inputs, Communicator& communicator,
                                RankStreams streams);

// The same arithmetic without a communicator: output[i] = inputs[0][i] (+) ... (+) inputs[k-1][i], all on the device that
// is current, 1 <= k <= kMaxRanks, on `stream`. The output may be one of the inputs. With balanced_tree on both levels,
// summing 2^j vectors on each of 2^i ranks and then over the ranks gives the bits of summing all 2^(i+j) at once. An
// average divides by k.
[[nodiscard]] Status reduce_on_device(DataView output, RankInputs inputs, Reduction reduction, SumOrder order,
                                      cudaStream_t stream);

// What streams[r] gets from now on starts when all the streams have come as far as this.
[[nodiscard]] Status barrier(Communicator& communicator, RankStreams streams);

}  // namespace rondo
