#include "kusari/framework/core/shared.h"

namespace kusari {

detail::Keeper::~Keeper() = default;

}  // namespace kusari
