/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the parameters of a dat.conf entry may name. */
#include "test/unit/soft_util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "test/unit/soft_loop.h"

static const struct {
	const char *params, *text;
} good[] = {
	{ "", "127.0.0.1:0" },		{ "lo", "127.0.0.1:0" },
	{ "  lo  ", "127.0.0.1:0" },	{ "lo 1", "127.0.0.1:0" }, /* "device port" */
	{ "127.0.0.1", "127.0.0.1:0" }, { "127.0.0.77", "127.0.0.77:0" },
	{ "localhost", NULL },
};

static void names(void **state)
{
	struct sockaddr_storage addr;
	char text[SOFT_ADDR_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(soft_addr_resolve("test", good[i].params, &addr), 0);
		soft_addr_text(&addr, 0, text);
		if (good[i].text)
			assert_string_equal(text, good[i].text);
	}
}

/* One message each, that names the entry and what it could not do. */
static void refused(const char *params, int err)
{
	unsigned before = soft_diags(NULL, 0);
	struct sockaddr_storage addr;
	char last[512];

	assert_int_equal(soft_addr_resolve("some-ia", params, &addr), err);
	assert_int_equal(soft_diags(last, sizeof(last)), before + 1);
	assert_non_null(strstr(last, "some-ia"));
}

static void no_names(void **state)
{
	char lengthy[400];

	(void)state;
	memset(lengthy, 'x', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	refused("nosuchdev0.invalid", -ENODEV);
	refused("999.1.1.1.invalid", -ENODEV);
	refused("203.0.113.9", -EADDRNOTAVAIL); /* somebody else's */
	refused("0.0.0.0", -EADDRNOTAVAIL);	/* an adapter has one address */
	refused("::", -EADDRNOTAVAIL);
	refused("224.0.0.1", -EADDRNOTAVAIL); /* nor is one of many */
	refused("255.255.255.255", -EADDRNOTAVAIL);
	refused(lengthy, -EINVAL);
}

static void texts(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(7) };
	struct sockaddr_storage copy;
	char text[SOFT_ADDR_TEXT];

	(void)state;
	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	soft_addr_copy(&copy, (struct sockaddr *)&in6);
	assert_int_equal(((struct sockaddr_in6 *)&copy)->sin6_port, 0);
	assert_string_equal(soft_addr_text(&copy, 4711, text), "[2001:db8::1]:4711");
}

static struct sockaddr_storage address(int family, const char *text)
{
	struct sockaddr_storage addr = { .ss_family = (sa_family_t)family };

	assert_int_equal(inet_pton(family, text,
				   family == AF_INET6
					   ? (void *)&((struct sockaddr_in6 *)&addr)->sin6_addr
					   : (void *)&((struct sockaddr_in *)&addr)->sin_addr),
			 1);
	return addr;
}

/* Where bytes may leave the host they are summed (RFC 5044 section 4.4). */
static void same_host(void **state)
{
	static const struct {
		int family;
		const char *own, *other;
		bool same;
	} pairs[] = {
		{ AF_INET, "127.0.0.1", "127.0.0.1", true },
		{ AF_INET, "127.0.0.1", "127.0.0.77", true },
		{ AF_INET, "198.51.100.7", "198.51.100.7", true },
		{ AF_INET, "127.0.0.1", "198.51.100.7", false },
		{ AF_INET, "198.51.100.7", "203.0.113.9", false },
		{ AF_INET6, "::1", "::1", true },
		{ AF_INET6, "2001:db8::1", "2001:db8::1", true },
		{ AF_INET6, "2001:db8::1", "2001:db8::2", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct sockaddr_storage own = address(pairs[i].family, pairs[i].own);
		struct sockaddr_storage other = address(pairs[i].family, pairs[i].other);

		assert_int_equal(soft_addr_same_host(&own, &other), pairs[i].same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(no_names),
		cmocka_unit_test(texts),
		cmocka_unit_test(same_host),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
