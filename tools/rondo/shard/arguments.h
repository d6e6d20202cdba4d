// What may be said to `rondo shard`.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

// What a training run holds, and how: on one device; the batch split and everything else everywhere; everything everywhere.
enum class ShardArray { batch, parameters, optimizer };
enum class ShardMode { single, sharded, replicated };
const char* name_of(ShardArray array);
const char* name_of(ShardMode mode);

// A mesh of devices: "2x4" has the axes x (of 2) and y (of 4). Their names are the letters of kMeshAxes, in this order.
inline constexpr const char* kMeshAxes = "xyz";
using Mesh = std::vector<int64_t>;
// For rows and columns of an array the axes of the mesh that they are split over, one after the other; empty: not split.
struct ShardSpec {
  std::string rows, columns;
};

struct ShardArguments {
  std::optional<ShardArray> array;  // either this, and the following
  std::string model = "lenet";
  std::string optimizer = "adam";
  int devices = 2;
  int64_t batch = 256;
  ShardMode mode = ShardMode::sharded;
  std::vector<int64_t> shape;  // or these three: rows and columns
  Mesh mesh;
  std::optional<ShardSpec> spec;
  std::string svg;  // empty: not asked for
};

Command add_shard(const Command& app, ShardArguments& to);
// What only shows when all was read. Throws a bad_argument Error.
void check(const ShardArguments& arguments);

// "8192x1024": two sizes. "2x4": one to three, at most 64 devices in all. "x,-", "xy,-", "-,y".
std::vector<int64_t> parse_shape(const std::string& text);
Mesh parse_mesh(const std::string& text);
ShardSpec parse_spec(const std::string& text);

}  // namespace rondo::program
