// The calls of adaptive pooling, whose kinds are those of the operator pool.
#pragma once

#include <rondo/bench/operators/operators.h>

namespace rondo::bench {

// Of the kinds adaptive_avg and adaptive_max. Throws a bad_argument Error for sizes that are too large.
OperatorCall make_adaptive_pool(const OperatorRequest& request);

}  // namespace rondo::bench
