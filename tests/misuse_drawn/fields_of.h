#pragma once

namespace kusari::misuse_drawn {

/// The members of an aggregate with their names; generate_calls.py writes one for each that the headers declare.
template <class T>
struct FieldsOf {
  static constexpr bool kKnown = false;
};

/// The values of an enumeration, likewise.
template <class T>
struct EnumeratorsOf;

}  // namespace kusari::misuse_drawn
