#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/shard/shard.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <algorithm>

namespace rondo::program {
namespace {

constexpr int kMostDevices = 64;
constexpr int64_t kMostRows = 1'000'000'000;  // rows x columns of floats stay below 2^63 bytes
constexpr ShardArray kArrays[] = {ShardArray::batch, ShardArray::parameters, ShardArray::optimizer};
constexpr ShardMode kModes[] = {ShardMode::single, ShardMode::sharded, ShardMode::replicated};

}  // namespace

const char* name_of(ShardArray array) {
  if (array == ShardArray::batch) return "batch";
  return array == ShardArray::parameters ? "parameters" : "optimizer";
}

const char* name_of(ShardMode mode) {
  if (mode == ShardMode::single) return "single";
  return mode == ShardMode::sharded ? "sharded" : "replicated";
}

std::vector<int64_t> parse_shape(const std::string& text) {
  std::vector<int64_t> sizes;
  for (const std::string& part : split(text, 'x')) sizes.push_back(read_number<int64_t>(part).value_or(0));
  if (sizes.size() == 2 && std::ranges::all_of(sizes, [](int64_t s) { return s >= 1 && s <= kMostRows; }))
    return sizes;
  throw Error(bad_argument("--shape is '", text, "', must be rows and columns from 1 to ", kMostRows,
                           ", such as 8192x1024"));
}

Mesh parse_mesh(const std::string& text) {
  Mesh mesh;
  int64_t devices = 1;
  for (const std::string& part : split(text, 'x')) {
    mesh.push_back(read_number<int64_t>(part).value_or(0));
    const bool valid = mesh.back() >= 1 && mesh.back() <= kMostDevices;
    devices = valid && devices <= kMostDevices ? devices * mesh.back() : kMostDevices + 1;
  }
  if (mesh.size() <= 3 && devices <= kMostDevices) return mesh;
  throw Error(bad_argument("--mesh is '", text, "', must be one to three sizes of at least 1, and at most ",
                           kMostDevices, " devices, such as 2x4"));
}

ShardSpec parse_spec(const std::string& text) {
  const auto fail = [&](const auto&... why) {
    throw Error(bad_argument("--spec is '", text, "', ", why..., ", such as x,- or x,y"));
  };
  std::vector<std::string> parts = split(text, ',');
  if (parts.size() != 2) fail("must be the mesh axes that split the rows and those that split the columns");
  std::string seen;
  for (std::string& part : parts) {
    if (part == "-") {
      part.clear();
      continue;
    }
    if (part.empty() || part.find_first_not_of(kMeshAxes) != std::string::npos)
      fail("whose part '", part, "' must be axes of the mesh (x, y, z), or - where it is not split");
    for (const char axis : part) {
      if (seen.find(axis) != std::string::npos)
        fail("which has the axis ", axis, " twice, must have it once");
      seen += axis;
    }
  }
  return {parts[0], parts[1]};
}

void check(const ShardArguments& arguments) {
  if (!arguments.array && !arguments.spec)
    throw Error(
        bad_argument("no array was named: rondo shard --array batch, or "
                     "rondo shard --shape 8192x1024 --mesh 2x4 --spec x,-"));
  if (!arguments.spec) return;
  for (const char axis : arguments.spec->rows + arguments.spec->columns)
    if (std::string(kMeshAxes).find(axis) >= arguments.mesh.size())
      throw Error(bad_argument("--spec splits over the axis ", axis, ", must be one of the axes of --mesh: ",
                               std::string(kMeshAxes, arguments.mesh.size())));
}

namespace {

void add_shard_options(const Command& shard, ShardArguments& to) {
  const Option array = add_name(shard, "--array", "NAME",
                                "Array of a training run: batch, parameters or optimizer", to.array, kArrays);
  add_word(shard, "--model", "MODEL", any_of(nn::model_names()) + " [lenet]", to.model, nn::model_names())
      .needs(array);
  add_word(shard, "--optimizer", "NAME", "sgd or adam [adam]", to.optimizer, {"sgd", "adam"}).needs(array);
  add_integer(shard, "--devices", "N", "Number of devices [2]", to.devices, 1, kMostDevices).needs(array);
  add_integer(shard, "--batch", "N", "Samples per step over all devices [256]", to.batch, 1, kMostRows)
      .needs(array);
  add_name(shard, "--mode", "MODE", "single, sharded or replicated [sharded]", to.mode, kModes).needs(array);
  const Option shape = shard.add("--shape", "RxC", "Any array: its rows and columns, such as 8192x1024",
                                 [&](const std::string& s) { to.shape = parse_shape(s); });
  const Option mesh = shard.add("--mesh", "XxY", "Devices in rows and columns, such as 2x4",
                                [&](const std::string& s) { to.mesh = parse_mesh(s); });
  const Option spec =
      shard.add("--spec", "AXES,AXES", "Axes of the mesh that split rows and columns: x,- or x,y or -,xy",
                [&](const std::string& s) { to.spec = parse_spec(s); });
  shape.excludes(array).needs(mesh).needs(spec);
  mesh.needs(shape);
  spec.needs(shape);
  add_path(shard, "--svg", "FILE.svg", "Also draw it", to.svg);
}

}  // namespace

void add_shard(Program& program) {
  program.add<ShardArguments>("shard", "Show how an array is distributed over the devices", add_shard_options,
                              [](const ShardArguments& arguments, const RunContext& context) {
                                show_shard(arguments, context.out, context.terminal);
                              });
}

}  // namespace rondo::program
