// Sharding: the part of an array of rows and columns that each device holds.
#pragma once

#include <rondo/nn/graph/shard.h>
#include <rondo/tools/rondo/shard/arguments.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::program {

struct ArrayAxis {
  std::string one, many;  // names of the entries, such as "sample" and "samples"
  int64_t size;

  const std::string& name() const { return size == 1 ? one : many; }
};

// A rectangle of the array and the devices that hold it.
struct ArrayPart {
  nn::Shard rows, columns;
  std::vector<int> devices;
  bool empty() const { return rows.size == 0 || columns.size == 0; }
};

// All parts in a row of parts have the same array rows, and all parts in a column the same array columns. The
// elements are floats.
struct Sharding {
  std::string title;
  ArrayAxis rows, columns;
  int devices;  // some may hold nothing
  size_t parts_in_a_row;
  std::vector<ArrayPart> parts;  // row-major

  size_t part_rows() const { return parts.size() / parts_in_a_row; }
  const ArrayPart& at(size_t row, size_t column) const { return parts[row * parts_in_a_row + column]; }
};

int64_t bytes_of(const ArrayPart& part);

// Devices are numbered with the last mesh axis fastest. nn::shard_of() splits rows and columns.
Sharding shard(const std::string& title, const ArrayAxis& rows, const ArrayAxis& columns, const Mesh& mesh,
               const ShardSpec& spec);

// The sharding described by the options. Throws rondo::Error.
Sharding sharding_of(const ShardArguments& arguments);

}  // namespace rondo::program
