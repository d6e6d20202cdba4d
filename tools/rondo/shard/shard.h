// `rondo shard`: draws how an array is distributed over the devices.
#pragma once

#include <rondo/tools/rondo/shard/sharding.h>
#include <rondo/tools/rondo/support/terminal.h>

#include <ostream>
#include <string>

namespace rondo::program {

// "cpu:0", "cpu:0,2", "cpu:0-3,7"; followed by "(nothing)" if the part is empty.
std::string holders_text(const ArrayPart& part);
// "256 samples x 784 values, 784.0 KiB"
std::string size_text(const Sharding& sharding);

// Boxes in proportion, as wide as the terminal allows and at least as wide as their labels, and one line per
// device.
std::string shard_text(const Sharding& sharding, const Terminal& terminal);
std::string shard_svg(const Sharding& sharding);

// Throws rondo::Error.
void show_shard(const ShardArguments& arguments, std::ostream& out, const Terminal& terminal);

}  // namespace rondo::program
