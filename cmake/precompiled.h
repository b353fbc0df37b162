#pragma once

// What most sources of the library read, for KUSARI_PCH. No source counts on it: each includes what it uses.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/array.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/serializer.h"
#include "kusari/framework/kernels/axes.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
