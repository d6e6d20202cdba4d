// `rondo devices`: lists the devices, their properties and their peer access. Also the choice of the ranks'
// devices.
#pragma once

#include <rondo/tools/rondo/arguments.h>

#include <optional>
#include <ostream>
#include <vector>

namespace rondo::program {

// The number of ranks if none is given.
inline constexpr int kDefaultReplicas = 2;

// Throws rondo::Error.
void show_devices(const DevicesArguments& arguments, std::ostream& out);

// The ranks' devices: `asked` or, if it is empty, devices_for(kDefaultReplicas). The devices exist on return,
// and the first one is current. Throws rondo::Error.
std::vector<int> take_devices(const std::optional<std::vector<int>>& asked);

// A separate device for each of `ranks` ranks if there are enough, else devices in turn. The devices exist on
// return, and the first one is current.
std::vector<int> devices_for(int ranks);

// Assigns `ranks` ranks in turn to the `present` devices, which are at least 1.
std::vector<int> in_turn(int ranks, int present);

}  // namespace rondo::program
