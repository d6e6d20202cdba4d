// `rondo devices`: the devices, what they have, and which of them reach each other's memory; and the devices
// that ranks are put on.
#pragma once

#include <rondo/tools/rondo/arguments.h>

#include <optional>
#include <ostream>
#include <vector>

namespace rondo::program {

// Of a training or a measurement that was not told how many.
inline constexpr int kDefaultReplicas = 2;

// Throws rondo::Error.
void show_devices(const DevicesArguments& arguments, std::ostream& out);

// The devices of the ranks: those asked for or, where nothing was asked, devices_for() kDefaultReplicas ranks. They
// exist when this returns, and the first is current. Throws rondo::Error.
std::vector<int> take_devices(const std::optional<std::vector<int>>& asked);

// A device for each of `ranks` ranks as long as there are as many, else in turn. They exist when this
// returns, and the first is current.
std::vector<int> devices_for(int ranks);

// `ranks` ranks, in turn on the `present` devices, which are at least 1.
std::vector<int> in_turn(int ranks, int present);

}  // namespace rondo::program
