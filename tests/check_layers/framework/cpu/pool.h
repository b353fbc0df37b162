#pragma once

#include "kusari/framework/autograd/variable.h"
