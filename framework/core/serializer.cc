#include "kusari/framework/core/serializer.h"

#include <cmath>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/number_text.h"

namespace kusari {
namespace {

constexpr int64_t kLargestCount = int64_t{1} << 53;

}  // namespace

Serializer::~Serializer() = default;

std::string Serializer::place(const std::string& name) const { return "entry '" + name + "' "; }

void Serializer::mismatch(const std::string& name, const std::string& what) { throw TypeError(place(name) + what); }

void Serializer::integers(const std::string& name, std::vector<int64_t>& value) {
  Array packed;
  if (is_writer()) packed = kusari::array<int64_t>(value);
  array(name, packed);
  if (is_writer()) return;
  if (packed.is_defined() && (packed.ndim() != 1 || packed.is_floating())) {
    throw TypeError(place(name) + "has shape " + to_string(packed.shape()) + " and dtype " +
                    kusari::name(packed.dtype()) + " but the object wants a list of integers");
  }
  value = packed.is_defined() ? packed.to_vector<int64_t>() : std::vector<int64_t>();
}

void Serializer::below(const std::string& name, void* object, void (*serialize)(void*, Serializer&)) {
  serialize(object, *child(name));
}

void serialize_count(Serializer& serializer, const std::string& name, int64_t& value) {
  int64_t read = value;
  serializer(name, read);
  if (!serializer.is_writer() && !serializer.restores() && (read < 0 || read > kLargestCount)) {
    throw ValueError(serializer.place(name) + "is " + std::to_string(read) + ": it must be 0 .. 2^53");
  }
  value = read;
}

void serialize_number(Serializer& serializer, const std::string& name, double& value, EntryRange range) {
  double read = value;
  serializer(name, read);
  const bool fits = std::isfinite(read) &&
                    (range == EntryRange::finite || read > 0 || (range == EntryRange::not_negative && read == 0));
  if (!serializer.is_writer() && !serializer.restores() && !fits) {
    throw ValueError(serializer.place(name) + "is " + general_text(read) + ": it must be finite" +
                     (range == EntryRange::finite         ? ""
                      : range == EntryRange::not_negative ? " and not negative"
                                                          : " and positive"));
  }
  value = read;
}

}  // namespace kusari
