// Tests ir/channels.cpp.

#include "support/contains.h"

#include "ir/parser.h"
#include "ir/verifier.h"

#include <doctest/doctest.h>

#include <string>

using namespace tritonc;

namespace {

// The errors of a kernel with the channels %c and %d, of two stages each, and the order %o.
std::string errors(const std::string &consumer, const std::string &producer,
                   const std::string &channels = "%c = channel %s : channel[2]\n",
                   const std::string &groups = "1") {
  ir::ParseResult parsed =
      ir::parse("func @f(%n: i32, %x: f32[8]) warps 4 {\n %s = shared_alloc : shared<f32>[2,8]\n"
                "%z = shared_alloc : shared<f32>[1,8]\n" +
                channels + "warp_specialize {groups = [" + groups +
                ",1], one_thread = [0,1], warps = [4,4]} {\n" + consumer + "yield\n} {\n" +
                producer + "yield\n}\n return\n}");
  REQUIRE_MESSAGE(parsed.function, parsed.error);
  return ir::verify(*parsed.function);
}

int next = 0;

// A loop whose body has `%t` as its number. All names in the body become unique.
std::string loop(std::string body) {
  const std::string number = std::to_string(next++);
  for (size_t at = 0; (at = body.find('@', at)) != std::string::npos;)
    body.replace(at, 1, number);
  return "for_loop %n {\n (%t" + number + ": i32)\n" + body + "yield\n}\n";
}

std::string put(const std::string &channel = "c", const std::string &offset = "") {
  return "%p" + channel + "@ = put %" + channel + ", %t@ " + offset + " : i32\n put_done %" +
         channel + ", %t@ " + offset + "\n";
}
std::string get(const std::string &channel = "c") {
  return "%g" + channel + "@ = get %" + channel + ", %t@ : i32\n";
}
std::string done(const std::string &channel = "c", const std::string &offset = "") {
  return "get_done %" + channel + ", %t@ " + offset + "\n";
}

const std::string two = "%c = channel %s : channel[2]\n %d = channel %z : channel[1]\n";
const char *const cycle = "partitions wait for each other in a cycle";

} // namespace

TEST_CASE("channels: are put by one partition and got by one") {
  CHECK(errors(loop(get() + done()), loop(put())) == "");
  CHECK(contains(errors("", loop(put())), "a channel is put and got"));
  CHECK(contains(errors(loop(get() + done()), ""), "a channel is put and got"));
  CHECK(contains(errors(loop(get() + done()), loop(put()) + loop(put())),
                 "an iteration puts and gets the same numbers"));
  CHECK(contains(errors(loop(get() + done()) + loop(put()), loop(put()) + loop(get())),
                 "a channel has one producer and one consumer partition"));
  CHECK(contains(errors(loop(loop(get() + done())), loop(put())),
                 "puts and gets are in equally many loops"));
}

TEST_CASE("channels: a put_done follows each put of a buffer") {
  const char *const rule = "its put_done follows, in the same block";
  auto body = [](const std::string &text) { return errors(loop(get() + done()), loop(text)); };
  CHECK(contains(body("put_done %c, %t@\n %p@ = put %c, %t@ : i32\n"), rule));
  CHECK(contains(body("%p@ = put %c, %t@ : i32\n put_done %c, %t@ {offset = 1}\n"), rule));
  CHECK(contains(body("put_done %c, %t@\n"), "each put of a buffer has a put_done"));
  const std::string order = "%c = channel : channel[2]\n";
  CHECK(errors(loop(get()), loop("put_done %c, %t@\n"), order) == "");
  CHECK(contains(errors(loop(get()), loop(put()), order), "nothing else is put"));
  CHECK(contains(errors(loop(get() + done()), loop("put_done %c, %t@\n"), order),
                 "a channel without buffers has no get_done"));
}

TEST_CASE("channels: fewer tokens than numbers in use") {
  // The stage of the iteration before is released: one of two stages is in use.
  CHECK(errors(loop(get() + done("c", "{offset = -1}")), loop(put())) == "");
  CHECK(contains(errors(loop(get() + done("c", "{offset = -2}")), loop(put())), cycle));
  const std::string one = "%c = channel %z : channel[1]\n";
  CHECK(errors(loop(get() + done()), loop(put()), one) == "");
  CHECK(contains(errors(loop(get() + done("c", "{offset = -1}")), loop(put()), one), cycle));
}

TEST_CASE("channels: partitions wait for each other") {
  // Each waits first for what the other does last.
  CHECK(errors(loop(get("c") + done("c") + put("d")), loop(put("c") + get("d") + done("d")), two) ==
        "");
  CHECK(contains(
      errors(loop(get("c") + done("c") + put("d")), loop(get("d") + done("d") + put("c")), two),
      cycle));
  // A number in advance starts them.
  const std::string orders = "%c = channel : channel[2]\n %d = channel : channel[2]\n";
  const std::string first = loop(get("c") + "put_done %d, %t@\n");
  CHECK(contains(errors(first, loop(get("d") + "put_done %c, %t@\n"), orders), cycle));
  CHECK(errors(first, loop("%g@ = get %d, %t@ {offset = -1} : i32\n put_done %c, %t@\n"), orders) ==
        "");
}

TEST_CASE("channels: loops of both sides run at the same time") {
  const std::string gets_c = loop(get("c") + done("c")), puts_c = loop(put("c"));
  CHECK(errors(gets_c + loop(get("d") + done("d")), loop(put("c")) + loop(put("d")), two) == "");
  // The producer ends one loop only when the consumer is in it.
  CHECK(contains(errors(loop(get("d") + done("d")) + gets_c, puts_c + loop(put("d")), two), cycle));
}

TEST_CASE("channels: consumer groups take turns") {
  const std::string order = "%c = channel : channel[2]\n";
  auto turns = [&](const std::string &offset) {
    return errors(loop("%g@ = get %c, %t@ " + offset + ": i32\n put_done %c, %t@\n"), "", order,
                  "2");
  };
  CHECK(turns("{offset = -1} ") == "");
  CHECK(contains(turns(""), cycle));
}
