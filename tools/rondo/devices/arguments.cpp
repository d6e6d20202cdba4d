#include <rondo/tools/rondo/devices/devices.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/option_readers.h>

namespace rondo::program {

void add_devices(Program& program) {
  program.add<DevicesArguments>(
      "devices", "Show the devices and their peer access",
      [](const Command& devices, DevicesArguments& to) {
        add_integer(devices, "--devices", "N",
                    "Show at least N devices; the CPU executor creates as many as requested", to.count, 1,
                    kMaxDevices);
      },
      [](const DevicesArguments& arguments, const RunContext& context) {
        show_devices(arguments, context.out);
      });
}

}  // namespace rondo::program
