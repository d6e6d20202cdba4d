#include <rondo/kernels/core/text.h>
#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/shard/sharding.h>

#include <numeric>

namespace rondo::program {
namespace {

// The number of parts that the mesh axes in `axes` make, and the part of one device.
struct Division {
  int64_t parts = 1, mine = 0;
};

Division divide(const std::string& axes, const Mesh& mesh, const Mesh& place) {
  Division division;
  for (const char axis : axes) {
    const size_t i = std::string(kMeshAxes).find(axis);
    division = {division.parts * mesh[i], division.mine * mesh[i] + place[i]};
  }
  return division;
}

Mesh place_of(int64_t device, const Mesh& mesh) {
  Mesh place(mesh.size());
  for (size_t i = mesh.size(); i-- > 0;) {
    place[i] = device % mesh[i];
    device /= mesh[i];
  }
  return place;
}

// Every replica holds a whole model: its parameters are one arena, and so is each state of its optimizer.
Sharding of_training(const ShardArguments& arguments) {
  const nn::NamedModel model = nn::model(arguments.model);
  const nn::Graph graph = nn::make_graph(model.network, model.input);
  const bool of_batch = *arguments.array == ShardArray::batch;
  const ArrayAxis floats = {"float", "floats", graph.parameter_arena_size()};
  ArrayAxis rows = {"arena of parameters", "", 1}, columns = floats;
  std::string what = "The parameters of " + arguments.model;
  if (of_batch) {
    rows = {"sample", "samples", arguments.batch};
    columns = {"value", "values", model.input.size()};
    what = "A batch of " + arguments.model;
  } else if (*arguments.array == ShardArray::optimizer) {
    // Adam has two moments (kernels/optimizer/adam.h), momentum is one.
    rows = {"arena of states", "arenas of states", arguments.optimizer == "adam" ? 2 : 1};
    what = (arguments.optimizer == "adam" ? "Adam's states for " : "SGD's momentum for ") + arguments.model;
  }
  const bool single = arguments.mode == ShardMode::single;
  const Mesh mesh = {single ? 1 : arguments.devices};
  const bool split = of_batch && arguments.mode == ShardMode::sharded;
  Sharding result =
      shard(what + ", mode " + name_of(arguments.mode), rows, columns, mesh, {split ? "x" : "", ""});
  result.devices = arguments.devices;
  return result;
}

}  // namespace

int64_t bytes_of(const ArrayPart& part) {
  return part.rows.size * part.columns.size * static_cast<int64_t>(sizeof(float));
}

Sharding shard(const std::string& title, const ArrayAxis& rows, const ArrayAxis& columns, const Mesh& mesh,
               const ShardSpec& spec) {
  const int64_t devices = std::accumulate(mesh.begin(), mesh.end(), int64_t{1}, std::multiplies<>());
  const int64_t down = divide(spec.rows, mesh, Mesh(mesh.size())).parts;
  const int64_t across = divide(spec.columns, mesh, Mesh(mesh.size())).parts;
  Sharding result{title, rows, columns, static_cast<int>(devices), static_cast<size_t>(across), {}};
  for (int64_t row = 0; row < down; ++row)
    for (int64_t column = 0; column < across; ++column)
      result.parts.push_back(
          {nn::shard_of(rows.size, row, down), nn::shard_of(columns.size, column, across), {}});
  for (int64_t device = 0; device < devices; ++device) {
    const Mesh place = place_of(device, mesh);
    const int64_t row = divide(spec.rows, mesh, place).mine, column = divide(spec.columns, mesh, place).mine;
    result.parts[static_cast<size_t>(row * across + column)].devices.push_back(static_cast<int>(device));
  }
  return result;
}

Sharding sharding_of(const ShardArguments& arguments) {
  check(arguments);
  if (arguments.array) return of_training(arguments);
  const auto axes = [](const std::string& part) { return part.empty() ? "-" : part; };
  std::string mesh;
  for (const int64_t size : arguments.mesh) mesh += (mesh.empty() ? "" : " x ") + exact_text(size);
  return shard("An array split " + axes(arguments.spec->rows) + "," + axes(arguments.spec->columns) +
                   " over the mesh " + mesh,
               {"row", "rows", arguments.shape[0]}, {"column", "columns", arguments.shape[1]}, arguments.mesh,
               *arguments.spec);
}

}  // namespace rondo::program
