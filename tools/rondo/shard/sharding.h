// Sharding: which part of an array of rows and columns each device holds.
#pragma once

#include <rondo/nn/train/shard.h>
#include <rondo/tools/rondo/shard/arguments.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::program {

struct ArrayAxis {
  std::string name;  // of its entries: "samples"
  int64_t size;
};

// A rectangle of the array, and who holds it.
struct ArrayPart {
  nn::Shard rows, columns;
  std::vector<int> devices;
  bool empty() const { return rows.size == 0 || columns.size == 0; }
};

// Every row of parts has the same columns, and every column the same rows. The elements are floats.
struct Sharding {
  std::string title;
  ArrayAxis rows, columns;
  int devices;  // some may hold nothing
  size_t parts_in_a_row;
  std::vector<ArrayPart> parts;  // row by row

  size_t part_rows() const { return parts.size() / parts_in_a_row; }
  const ArrayPart& at(size_t row, size_t column) const { return parts[row * parts_in_a_row + column]; }
};

int64_t bytes_of(const ArrayPart& part);

// Devices are numbered along the last axis of the mesh first. Rows and columns are cut by nn::shard_of().
Sharding shard(const std::string& title, ArrayAxis rows, ArrayAxis columns, const Mesh& mesh,
               const ShardSpec& spec);

// What the options describe; throws rondo::Error.
Sharding sharding_of(const ShardArguments& arguments);

}  // namespace rondo::program
