// SKIP_WITHOUT_DEVICES(2) skips a test whose subject is several devices, on a machine with fewer. Other tests
// run on any machine: they name a device several times, as spread() in nn/train/spread.h does.
#pragma once

#include <gtest/gtest.h>
#include <rondo/kernels/runtime/platform.h>

#define SKIP_WITHOUT_DEVICES(count) \
  if (rondo::device_count() < (count)) GTEST_SKIP() << "needs " << (count) << " devices"
