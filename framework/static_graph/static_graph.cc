#include "kusari/framework/static_graph/static_graph.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/type_name.h"
#include "kusari/framework/static_graph/engines.h"

namespace kusari::detail {
namespace {

// A lambda has no name worth telling.
std::string class_name(const std::type_info& type) {
  const std::string name = type_name(type);
  return name.find_first_of("(){}") != std::string::npos ? "function" : name;
}

StaticGraphOptions named(StaticGraphOptions options, const std::type_info& callee) {
  if (options.name.empty()) options.name = class_name(callee);
  return options;
}

}  // namespace

StaticGraphCache::StaticGraphCache(StaticGraphOptions options, const std::type_info& callee)
    : engines_{std::make_unique<graphs::Engines>(named(std::move(options), callee))} {}
StaticGraphCache::StaticGraphCache(const StaticGraphCache& other)
    : engines_{std::make_unique<graphs::Engines>(other.engines_->options())} {}
StaticGraphCache::StaticGraphCache(StaticGraphCache&& other) noexcept = default;
// The callee has been assigned to: what was recorded may not be what it does now.
StaticGraphCache& StaticGraphCache::operator=(const StaticGraphCache& other) {
  if (this != &other) engines_ = std::make_unique<graphs::Engines>(other.engines_->options());
  return *this;
}
StaticGraphCache& StaticGraphCache::operator=(StaticGraphCache&& other) noexcept = default;
StaticGraphCache::~StaticGraphCache() = default;

bool StaticGraphCache::is_on() const noexcept { return engines_->is_on(); }
Variables StaticGraphCache::call(const Callee& callee, std::span<const Variable> inputs) {
  return engines_->call(callee, inputs);
}

const std::string& StaticGraphCache::name() const noexcept { return engines_->options().name; }
std::string StaticGraphCache::summary() const { return engines_->summary(); }
std::string StaticGraphCache::dot() const { return engines_->dot(); }
void StaticGraphCache::write_dot(const std::string& path) const { write_file_atomically(path, dot()); }
void StaticGraphCache::clear() noexcept { engines_->clear(); }

}  // namespace kusari::detail
