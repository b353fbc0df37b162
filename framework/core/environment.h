#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/export.h"

/// The variables of the environment that Kusari reads. An empty one is as if it were not set; another value that a
/// variable cannot have is a ValueError that names the variable, the value and what it may be.
namespace kusari::environment {

/// Sets `result` to what a text says. `what`: the variable, or the call whose argument the text is. Truth values are 0,
/// false or off, and 1, true or on, in any case; dtypes are in any case too.
KUSARI_API void parse(const std::string& what, const std::string& value, bool& result);
KUSARI_API void parse(const std::string& what, const std::string& value, Use& result);
KUSARI_API void parse(const std::string& what, const std::string& value, DtypePolicy& result);
/// Decimal digits alone, from low to high.
KUSARI_API uint64_t parse_number(const std::string& what, const std::string& value, uint64_t low, uint64_t high);
/// Its place among the names.
KUSARI_API size_t parse_choice(const std::string& what, const std::string& value, std::span<const char* const> names);

/// What any variable is set to; nullptr when it is not set, or empty.
KUSARI_API const char* value(const char* variable);
/// What a variable of that kind is set to; nullopt when it is not set, or empty. environment.cc has the list of them.
KUSARI_API std::optional<bool> flag(const char* variable);
KUSARI_API std::optional<uint64_t> number(const char* variable);
KUSARI_API std::optional<std::string> choice(const char* variable);

/// Looks at all of them, also those that nothing has asked for yet. The first use of the configuration does.
KUSARI_API void check();
/// Whether `variable` is one of those, or KUSARI_ or CHAINER_ and the name of an entry of Config. Throws ValueError if
/// it cannot have the value.
KUSARI_API bool check(const std::string& variable, const std::string& value);

}  // namespace kusari::environment
