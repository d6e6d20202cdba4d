// The barrier of a cluster.
#pragma once

namespace ptx {

struct Cluster;
struct Draft;

// The phase ends when all threads that have not exited have arrived.
void end_cluster_phase_if_complete(Cluster& cluster);

bool decode_cluster_barrier(Draft& draft);

}  // namespace ptx
