#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// Visits the values of an object under names, either to write them (is_writer) or to overwrite them. One `serialize`
/// method of an object thus serves both ways:
///
///   void SGD::serialize(Serializer& s) { s("lr", lr); }
///
/// Names nest with '/': s["l1"]("W", array) is the entry "l1/W".
class KUSARI_API Serializer {
 public:
  virtual ~Serializer();

  virtual bool is_writer() const = 0;
  /// A serializer for the entries below `name`.
  virtual std::unique_ptr<Serializer> child(const std::string& name) = 0;
  /// Whether the entry is there to be read; true for writers.
  virtual bool contains(const std::string& name) const = 0;

  /// Arrays. A reader overwrites the elements in place, casting the dtype, when `value` is defined, else it makes a new
  /// array; an entry that holds None leaves `value` undefined, and an undefined array is written as None.
  /// A reader throws KeyError for a missing entry and TypeError for a wrong shape.
  virtual void array(const std::string& name, Array& value) = 0;
  virtual void number(const std::string& name, int64_t& value) = 0;
  virtual void number(const std::string& name, double& value) = 0;
  virtual void boolean(const std::string& name, bool& value) = 0;
  virtual void text(const std::string& name, std::string& value) = 0;

  /// Whether the entries are there to undo a load that failed: a reader then gives the object all that it had when they
  /// were written, and it is to be without the rest: state without an entry is forgotten, not kept.
  virtual bool restores() const { return false; }
  /// How messages about an entry begin: "load_npz: model.npz: entry 'l1/W' ".
  virtual std::string place(const std::string& name) const;
  /// What an object says that cannot take an entry, whose shape or dtype does not fit, and keeps what it has. Throws
  /// TypeError with the place and `what`, unless the reader was told to skip such entries.
  virtual void mismatch(const std::string& name, const std::string& what);

  template <class T>
  void operator()(const std::string& name, T& value) {
    if constexpr (std::is_same_v<T, Array>) {
      array(name, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      boolean(name, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      text(name, value);
    } else if constexpr (std::is_integral_v<T>) {
      int64_t wide = static_cast<int64_t>(value);
      number(name, wide);
      value = static_cast<T>(wide);
    } else if constexpr (std::is_floating_point_v<T>) {
      double wide = value;
      number(name, wide);
      value = static_cast<T>(wide);
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      integers(name, value);
    } else {
      below(name, const_cast<void*>(static_cast<const void*>(&value)),
            [](void* object, Serializer& serializer) { static_cast<T*>(object)->serialize(serializer); });
    }
  }

 private:
  void integers(const std::string& name, std::vector<int64_t>& value);
  void below(const std::string& name, void* object, void (*serialize)(void* object, Serializer& serializer));
};

/// Visits a number of times, steps or examples. A reader throws ValueError unless it is 0 .. 2^53, up to where float64
/// counts exactly.
KUSARI_API void serialize_count(Serializer& serializer, const std::string& name, int64_t& value);

/// Which numbers an entry may hold; none of them infinite, and no NaN.
enum class EntryRange : uint8_t { finite, not_negative, positive };
/// Visits a number. A reader throws ValueError for one outside the range.
KUSARI_API void serialize_number(Serializer& serializer, const std::string& name, double& value, EntryRange range);

}  // namespace kusari
