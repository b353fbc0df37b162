#pragma once

// Helpers for tests of your own functions, links and extensions: `#include <kusari/framework/testing/testing.h>`. With
// gradient_check, which kusari.h has, all of chainer.testing that is not Python's.

#include "kusari/framework/autograd/gradient_check.h"
#include "kusari/framework/testing/assert_allclose.h"
#include "kusari/framework/testing/function_test_case.h"
#include "kusari/framework/testing/link_test_case.h"
#include "kusari/framework/testing/mock_updater.h"
#include "kusari/framework/testing/save_and_load.h"
