// `rondo devices`: the devices, what they have, and which of them reach each other's memory; and the devices
// that a training takes.
#pragma once

#include <rondo/tools/rondo/arguments.h>

#include <optional>
#include <ostream>
#include <vector>

namespace rondo::program {

// Throws rondo::Error.
void show_devices(const DevicesArguments& arguments, std::ostream& out);

// The devices of a training's ranks: those asked for or, where nothing was asked, default_devices(). They exist
// when this returns. Throws rondo::Error.
std::vector<int> take_devices(const std::optional<std::vector<int>>& asked);

// TrainArguments::kDefaultReplicas ranks, in turn on the `present` devices, which are at least 1.
std::vector<int> default_devices(int present);

}  // namespace rondo::program
