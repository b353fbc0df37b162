#include "kusari/framework/kernels/user/user_launch.h"

#include <cstring>
#include <deque>
#include <mutex>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fork_safe.h"

namespace kusari::kernels {
namespace {

struct Sources {
  ForkSafeMutex mutex;
  std::deque<UserSource> all;
};

constinit Lazy<Sources> sources;  // recorded launches may be replayed while statics are destroyed

}  // namespace

const UserSource& intern_user_source(const std::string& name, const std::string& code,
                                     const std::vector<std::string>& compiler) {
  const std::scoped_lock lock(sources->mutex);
  for (const UserSource& source : sources->all) {
    if (source.name == name && source.code == code && source.compiler == compiler) return source;
  }
  UserSource& source = sources->all.emplace_back();
  source.name = name;
  source.code = code;
  source.compiler = compiler;
  return source;
}

UserLaunch::Parameter& UserLaunch::next() {
  if (parameters == kMaxParameters) {
    throw ValueError(source->name + ": a kernel takes at most " + std::to_string(kMaxParameters) + " parameters");
  }
  return parameter[parameters++];
}

void UserLaunch::add_bytes(const void* data, size_t size, size_t alignment) {
  used = (used + alignment - 1) / alignment * alignment;
  if (used + size > kMaxBytes) {
    throw ValueError(source->name + ": the numbers and layouts of a kernel's parameters take at most " +
                     std::to_string(kMaxBytes) + " bytes");
  }
  next() = {-1, static_cast<uint16_t>(used)};
  std::memcpy(bytes + used, data, size);
  used += size;
}

}  // namespace kusari::kernels
