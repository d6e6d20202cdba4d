// Several translation units as one: names with and without linkage, and lines.
#include "device_program.h"

namespace ptx_test {
namespace {

// The first unit has the kernel k.
ptx::Fault run_linked(const std::string& body, const std::string& declarations, const std::string& other,
                      std::vector<uint32_t>& out) {
  try {
    Program program(ptx::link({kernel(body, declarations), ".version 8.5\n.target sm_90a\n" + other}));
    return program.run(out);
  } catch (const ptx::Fault& fault) {
    return fault;
  }
}

void expect_numbers(const ptx::Fault& fault, const std::vector<uint32_t>& out,
                    const std::vector<uint32_t>& expected) {
  EXPECT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(out, expected);
}

// A function without parameters that returns the number.
std::string function(const std::string& linkage, const std::string& name, const std::string& number) {
  return linkage + " .func (.param .b32 result) " + name + "()\n{ .reg .b32 %a<2>; mov.u32 %a1, " + number +
         "; st.param.b32 [result], %a1; ret; }\n";
}
std::string call(const std::string& name, int word) {
  return "{ .param .b32 r; call.uni (r), " + name + ", (); ld.param.b32 %r1, [r]; } st.global.u32 [%rd1+" +
         std::to_string(4 * word) + "], %r1;\n";
}
std::string read(const std::string& name, int word) {
  return "ld.global.u32 %r1, [" + name + "]; st.global.u32 [%rd1+" + std::to_string(4 * word) + "], %r1;\n";
}

TEST(PtxDeviceLink, AUnitUsesFunctionsAndVariablesOfAnother) {
  std::vector<uint32_t> out(3);
  const ptx::Fault fault =
      run_linked(call("f", 0) + read("table+4", 1) + "ld.global.u64 %rd3, [pointer];\n" + read("%rd3", 2),
                 ".extern .func (.param .b32 result) f();\n.extern .global .align 4 .b8 table[8];\n"
                 ".global .align 8 .u64 pointer = generic(table);\n",
                 function(".visible", "f", "5") + ".visible .global .align 4 .u32 table[2] = {6, 7};\n", out);
  expect_numbers(fault, out, {5, 7, 6});
}

TEST(PtxDeviceLink, NamesWithoutLinkageAreAUnitsOwn) {
  const std::string own = ".global .align 4 .u32 own = ";
  std::vector<uint32_t> out(4);
  const ptx::Fault fault = run_linked(
      call("f", 0) + read("own", 1) + call("shown", 2) + call("g", 3),
      own + "1;\n" + function("", "f", "2") + ".extern .func (.param .b32 result) shown();\n" +
          ".extern .func (.param .b32 result) g();\n",
      own + "3;\n" + function("", "f", "4") +
          ".visible .func (.param .b32 result) shown()\n{ .reg .b32 %a<2>; ld.global.u32 %a1, [own]; "
          "st.param.b32 [result], %a1; ret; }\n"
          ".visible .func (.param .b32 result) g()\n{ .param .b32 r; .reg .b32 %a<2>; call.uni (r), f, (); "
          "ld.param.b32 %a1, [r]; st.param.b32 [result], %a1; ret; }\n",
      out);
  expect_numbers(fault, out, {2, 1, 3, 4});
}

// The unit that has the name to itself may come first or last.
TEST(PtxDeviceLink, AnOwnNameMayBeThatOfAnotherUnitsVariable) {
  std::vector<uint32_t> out(1);
  expect_numbers(run_linked(read("x", 0), ".global .align 4 .u32 x = 1;\n",
                            ".visible .global .align 4 .u32 x = 2;\n", out),
                 out, {1});
  expect_numbers(run_linked(read("x", 0), ".visible .global .align 4 .u32 x = 1;\n",
                            ".global .align 4 .u32 x = 2;\n", out),
                 out, {1});
}

TEST(PtxDeviceLink, OfWeakDefinitionsTheFirstCounts) {
  std::vector<uint32_t> out(1);
  const std::string use = call("f", 0);
  expect_numbers(run_linked(use, function(".weak", "f", "1"), function(".weak", "f", "2"), out), out, {1});
  expect_numbers(run_linked(use, function(".weak", "f", "1"), function(".visible", "f", "2"), out), out, {2});
  expect_numbers(run_linked(use, function(".visible", "f", "1"), function(".weak", "f", "2"), out), out, {1});
}

TEST(PtxDeviceLink, DynamicSharedMemoryIsOne) {
  std::vector<uint32_t> out(1);
  Program program(
      ptx::link({kernel("{ .param .b32 r; call.uni (r), f, (); ld.param.b32 %r1, [r]; }\n"
                        "ld.shared.u32 %r2, [pool]; st.global.u32 [%rd1], %r2;",
                        kPool + ".extern .func (.param .b32 result) f();\n"),
                 kPool + ".visible .func (.param .b32 result) f()\n{ .reg .b32 %a<2>; mov.u32 %a1, 9; "
                         "st.shared.u32 [pool], %a1; st.param.b32 [result], %a1; ret; }\n"}));
  program.launch.shape.dynamic_shared = 16;
  expect_numbers(program.run(out), out, {9});
}

TEST(PtxDeviceLink, ANameThatTwoUnitsDefineOrNoneIsAFault) {
  std::vector<uint32_t> out(1);
  const std::string twice = function(".visible", "f", "1");
  EXPECT_EQ(run_linked(call("f", 0), twice, twice, out).text, "func f is defined in two units");
  const std::string variable = ".visible .global .align 4 .u32 x;\n";
  EXPECT_EQ(run_linked("", variable, variable, out).text, "global x is defined in two units");
  EXPECT_EQ(run_linked(read("x", 0), ".extern .global .align 4 .u32 x;\n", "", out).text,
            "no unit defines the variable x");
}

TEST(PtxDeviceLink, LinesAreThoseOfTheUnitsOwnFiles) {
  const std::string wrong = ".loc 1 7 3\nst.global.u32 [%rd9], %r1;\n";
  const std::string zero = "mov.u64 %rd9, 0; mov.u32 %r1, 0;\n";
  std::vector<uint32_t> out(1);
  EXPECT_NE(run_linked(zero + wrong, ".file 1 \"a.cu\"\n", ".file 1 \"b.cu\"\n", out).text.find("a.cu:7"),
            std::string::npos);
  const ptx::Fault fault =
      run_linked("call.uni f, ();", ".file 1 \"a.cu\"\n.file 2 \"a.h\"\n.extern .func f();\n",
                 ".visible .func f()\n{ .reg .b32 %r<2>; .reg .b64 %rd<10>; " + zero + wrong +
                     "ret; }\n.file 1 \"b.cu\"\n",
                 out);
  EXPECT_NE(fault.text.find("b.cu:7"), std::string::npos) << fault.text;
}

}  // namespace
}  // namespace ptx_test
