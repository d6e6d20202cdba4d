// The interface between the two halves of the PTX back end: the host half (../host, and the host half of
// tools/simt) loads modules and queues launches; the device half, this folder, interprets them. What an
// instruction means is written from the PTX ISA documentation alone. Global addresses are host addresses.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

// Why a launch failed, or a module can't be used. `text` names the values, the kernel, the thread, and the
// line.
struct Fault {
  int error;  // a cudaError_t
  std::string text;
  int lane = -1;  // of the warp, whose access is wrong; -1: not one lane alone
};

// The PTX of one translation unit, with the memory of its variables. The host loads a module once per device
// if it has variables. All functions may be called by several threads at once.
class Module;
std::shared_ptr<Module> load(std::string text);

// The text of one unit from those of several that nvcc -rdc=true compiled. Throws Fault if two of them define
// the same name, or none a variable that one uses.
std::string link(std::vector<std::string> texts);

struct Parameter {
  int bytes, offset;
};

struct Code;  // decoded instructions

struct Kernel {
  std::string name;
  Module* module = nullptr;
  std::vector<Parameter> parameters;
  int parameter_bytes = 0;
  int max_threads = 1024;                // of a block: .maxntid, .reqntid
  int static_shared = 0;                 // bytes
  int local_bytes = 0;                   // of a thread
  uint32_t cluster[3] = {0, 0, 0};       // .reqnctapercluster; 0: not given
  std::vector<std::string> unsupported;  // instructions that fail when they are executed
  std::unique_ptr<Code> code;

  Kernel();
  ~Kernel();
};
// Decodes the kernel at the first call. Null: it is not there. Throws Fault if its code is not understood.
const Kernel* find_kernel(Module& module, std::string_view name);
std::vector<std::string> kernel_names(const Module& module);

struct Variable {
  std::string name;
  void* data = nullptr;
  size_t bytes = 0;
  bool constant = false;
};
std::vector<Variable> variables(Module& module);  // .global and .const, of the module's scope

// The memory of the host that kernels of one device may access: allocations, variables of modules. The
// parameters of a launch, and shared and local memory, are the interpreter's own.
class MemoryMap {
 public:
  virtual ~MemoryMap() = default;
  // The allocation that contains `address`. Returns false, and why in `problem`, if there is none.
  virtual bool find(uint64_t address, uint64_t* begin, uint64_t* end, bool* writable,
                    std::string* problem) const = 0;
};

struct Shape {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  uint32_t dynamic_shared = 0;  // bytes
};

// Which asynchronous operations happen late: at the last moment that the ISA allows, or with `drawn` at a
// drawn moment until then, in a drawn order. The others happen at their issue.
struct Lateness {
  bool copies = false;    // cp.async
  bool bulk = false;      // cp.async.bulk, with tensors and without
  bool products = false;  // wgmma
  bool drawn = false;
};

// The sums of products of tensor cores, whose rounding no document specifies.
enum class TensorSums {
  nearest,    // exact, then rounded once to nearest even: the default
  truncated,  // exact, then rounded once toward zero
  // As measured on GPUs with the fewest bits: the products of 8 steps of k and the sum before them are cut to
  // 24 bits of the largest of them, added, and rounded toward zero (Fasi, Higham, Mikaitis and Pranesh,
  // "Numerical behavior of NVIDIA tensor cores", 2021).
  aligned,
};

// Conversion of a tensor copy to tf32, whose ties no document specifies.
enum class TensorTies {
  even,  // the default: seen on a GPU of compute capability 12.0
  away,
};

// What is a fault besides the rules that are always checked.
struct Checks {
  bool unwritten = true;  // a read of shared memory that nothing has written
  // A bulk copy or wgmma that reads what was written without fence.proxy.async; a remote access to an
  // mbarrier without fence.mbarrier_init; registers of wgmma that are used before the wait, or changed
  // without wgmma.fence.
  bool proxies = true;
  // Two accesses of different warps without an order between them. Off by default: it takes many times
  // longer.
  bool races = false;
  // An arrival at a block of the cluster that has exited: undefined, but without effect on GPUs.
  bool exited_blocks = true;
  // A thread that exits without a wait for its bulk copies from shared memory: they are undefined once the
  // block has exited, but GPUs complete them.
  bool unwaited_stores = true;
};

struct RaceLog;
std::shared_ptr<RaceLog> make_race_log();

// The memory of malloc() in kernels, at most `bytes`: cudaLimitMallocHeapSize.
class Heap;
std::shared_ptr<Heap> make_heap(size_t bytes);

struct Launch {
  const Kernel* kernel = nullptr;
  Shape shape;
  const unsigned char* parameters = nullptr;  // kernel->parameter_bytes of them, aligned to 64 bytes
  const MemoryMap* memory = nullptr;
  void (*print)(std::string_view text) = nullptr;  // what printf() of a kernel writes; null: to stdout
  uint32_t multiprocessors = 1;                    // %nsmid
  uint32_t sequence = 0;                           // of this launch in the process; varies drawn orders
  std::optional<uint64_t> seed;                    // draws the order of warps, and their slices
  Lateness late;
  TensorSums tensor_sums = TensorSums::nearest;
  TensorTies tensor_ties = TensorTies::even;
  Checks checks;
  bool count = false;  // instructions and launches, for report()
  // With checks.races: the accesses so far, of all clusters of the launch. Null: each call has its own.
  std::shared_ptr<RaceLog> races;
  std::shared_ptr<Heap> heap;   // null: malloc() returns null
  void* cooperative = nullptr;  // of a cooperative launch: 64 bytes of zeros, the workspace of grid.sync()
  // Called while all blocks of the worker wait for others: returns another cluster of this launch that has
  // not been started, or nothing. The worker then runs it at the same time. May be empty.
  std::function<std::optional<uint64_t>()> another_cluster;
  // Warps that wait in loops for memory to change are a deadlock after this time, in which no worker has made
  // progress. 12 times as long if the host does not wait for the device, or if the loops count.
  std::chrono::seconds patience{5};
  std::function<bool()> host_waits;  // whether a thread of the host waits; empty: one does
};
// Runs one cluster (one block without clusters), x fastest, to its end. Several workers call it at once for
// different clusters of one launch. Throws Fault.
void run_cluster(const Launch& launch, uint64_t cluster);
// Runs all clusters of a launch together, as a cooperative launch promises. Throws Fault.
void run_together(const Launch& launch);
uint64_t cluster_count(const Launch& launch);

// What was executed in launches with `count`: a line "K LAUNCHES NAME" for each kernel, and "F COUNT FORM"
// for each form of instruction that was decoded, such as "F 1024 ld.global.v4.f32"; the count may be 0.
std::string report(const Module& module);

// The content of the 128 bytes of a CUtensorMap, as the interpreter reads it.
struct TensorMap {
  uint64_t data;
  uint64_t stride[4];  // bytes, of dimensions 1 to rank - 1
  uint32_t size[5];    // minus one
  uint16_t box[5];     // tiled mode
  uint8_t step[5];     // element strides
  uint8_t rank, type;  // type: a CUtensorMapDataType
  uint8_t swizzle;     // a CUtensorMapSwizzle
  uint8_t im2col, interleave, nan_fill;
  uint16_t channels, pixels;   // im2col mode
  int16_t lower[3], upper[3];  // im2col mode: W, H, D
  uint32_t magic;              // kTensorMapMagic
};
inline constexpr uint32_t kTensorMapMagic = 0x50545854;
static_assert(sizeof(TensorMap) <= 128);

}  // namespace ptx
