#pragma once

#include "kusari/optimizers/hooks/gradient_clipping.h"
#include "kusari/optimizers/hooks/gradient_hard_clipping.h"
#include "kusari/optimizers/hooks/gradient_lars.h"
#include "kusari/optimizers/hooks/gradient_noise.h"
#include "kusari/optimizers/hooks/lasso.h"
#include "kusari/optimizers/hooks/weight_decay.h"
