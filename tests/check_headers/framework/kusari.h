#pragma once

#include "kusari/framework/core/array.h"
