#include "kusari/framework/datasets/sha256.h"

#include <string>

#include <doctest/doctest.h>

using kusari::datasets::Sha256;

namespace {

std::string sha256(const std::string& text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex_digest();
}

}  // namespace

TEST_CASE("Sha256: the examples of FIPS 180-4") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("Sha256: pieces of any size give the digest of the whole") {
  const std::string text(300, 'x');
  for (size_t piece : {1, 55, 56, 63, 64, 65, 119, 128, 299}) {
    CAPTURE(piece);
    Sha256 hash;
    for (size_t i = 0; i < text.size(); i += piece) hash.update(text.substr(i, piece));
    CHECK(hash.hex_digest() == sha256(text));
  }
}
