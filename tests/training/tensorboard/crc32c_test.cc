#include "kusari/framework/training/tensorboard/crc32c.h"

#include <string>

#include <doctest/doctest.h>

using namespace kusari::training::tensorboard;

// Expected: RFC 3720, section B.4; the check value of "123456789" is that of the catalogue of parametrised CRCs.
TEST_CASE("crc32c") {
  std::string ascending, descending;
  for (int i = 0; i < 32; ++i) {
    ascending += static_cast<char>(i);
    descending += static_cast<char>(31 - i);
  }
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43U);
  CHECK(crc32c(ascending) == 0x46DD794EU);
  CHECK(crc32c(descending) == 0x113FDB5CU);
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c("") == 0);
}

TEST_CASE("masked_crc32c rotates by 15 bits and adds a constant") {
  CHECK(masked_crc32c("") == 0xA282EAD8U);
  CHECK(masked_crc32c("123456789") == ((0xE3069283U >> 15 | 0xE3069283U << 17) + 0xA282EAD8U));
}
