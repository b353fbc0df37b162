#include "kusari/framework/core/serializer.h"

namespace kusari {

Serializer::~Serializer() = default;

}  // namespace kusari
