#pragma once

#include "kusari/framework/core/shape.h"

class KUSARI_API Array {};
