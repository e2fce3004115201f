/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "params.h"

#include <stdio.h>

static const char general_text[] =
	"USAGE:     dapltest -T <Test_Type> [-D IA_name] [-n port_number] [test-specific args]\n"
	"USAGE:         where <Test_Type>\n"
	"USAGE:         S = Run as a server\n"
	"USAGE:         T = Transaction Test\n"
	"USAGE:         Q = Quit Test\n"
	"USAGE:         P = Performance Test\n"
	"USAGE:         L = Limit Test\n"
	"USAGE:\n"
	"USAGE:         -D Interface_Adapter {default: the first entry of the static registry}\n"
	"USAGE:\n"
	"USAGE:         -n server_port_number {default 62000}\n"
	"USAGE:\n"
	"USAGE:         --timeout seconds for every single wait {default 60}\n"
	"USAGE:         --json, --tap: results for a machine instead of text\n"
	"USAGE:\n"
	"USAGE:         --regress server [--quick]: every form that users run, one by one\n"
	"USAGE:         --report file -s server [--quick]: all operations and sizes as a page\n"
	"USAGE:\n"
	"NOTE:\tRun as server taking defaults (dapltest -T S)\n"
	"NOTE:         dapltest\n"
	"NOTE:\n"
	"NOTE:\tdapltest arguments may be supplied in a script file\n"
	"NOTE:\tdapltest -f <script_file>\n"
	"NOTE:\n"
	"NOTE:\tClient and server must both be this program: the messages with which\n"
	"NOTE:\tthey agree on a test are not those of the released dapltest.\n";

static const char server_text[] =
	"USAGE: ---- SERVER MODE ----\n"
	"USAGE:     dapltest -T S\n"
	"USAGE:              [-D <device Name>]\n"
	"USAGE:              [-d] : debug (zero)\n"
	"USAGE:              [-n <server port number>] : 0 takes a free one\n"
	"USAGE:              [--timeout <seconds>]     : (60)\n";

static const char server_tail[] = "USAGE: Run as server using default parameters\n"
				  "USAGE:     dapltest\n";

static const char trans_text[] =
	"USAGE: ---- TRANSACTION TEST ----\n"
	"USAGE:     dapltest -T T\n"
	"USAGE:              -s <server Name>\n"
	"USAGE:              [-D <device Name>]\n"
	"USAGE:              [-n <server port number>]\n"
	"USAGE:              [-d] : debug (zero)\n"
	"USAGE:              [-i <num iterations>]     : (1000)\n"
	"USAGE:              [-t <num threads>]        : (1)\n"
	"USAGE:              [-w <num EPs per thread>] : (1) or <first>..<last>[..<step>]\n"
	"USAGE:              [-V ] : Validate data: (false)\n"
	"USAGE:              [-P ] : DTO Completion Polling: (false)\n"
	"USAGE:              [-Q ] : Funnel completions into a CNO: (false)\n"
	"USAGE:              [-r ] : Use RSPs: (false)\n"
	"USAGE:              [--duration <seconds>]    : again and again for so long\n"
	"USAGE:              [--timeout <seconds>]     : (60)\n";

static const char trans_tail[] = "USAGE:           <OP [OP...]\n"
				 "USAGE:\n"
				 "USAGE: Each OP consists of:\n"
				 "USAGE:     <who>       : \"server\"/\"client\"\n"
				 "USAGE:     <transfer_type> : \"SR\" (SEND/RECV)\n"
				 "USAGE:                     : \"RR\" (RDMA READ)\n"
				 "USAGE:                     : \"RW\" (RDMA WRITE)\n"
				 "USAGE:     [seg_size [num_segs] ]      : (4096, 1)\n"
				 "USAGE:     [-f]                 : Reap sends on recv\n"
				 "USAGE:\n"
				 "NOTE: -f is only allowed on \"SR\" OPs\n"
				 "NOTE: -f must appear in pairs (one client, one server)\n"
				 "NOTE: At least one server SR and one client SR OP are required\n"
				 "NOTE: and use of -V results in the use of three extra OPs\n";

static const char perf_text[] =
	"USAGE: ---- PERFORMANCE TEST ----\n"
	"USAGE:     dapltest -T P\n"
	"USAGE:              -s <server Name>\n"
	"USAGE:              [-n <server port number>]\n"
	"USAGE:              [-m b|p]\n"
	"USAGE:              [-D <device Name>]\n"
	"USAGE:              [-d] : debug (zero)\n"
	"USAGE:              [-i <num iterations>]     : (10000)\n"
	"USAGE:              [-p <pipeline>]           : in flight; 1 for latency\n"
	"USAGE:              [--sweep <first>..<last>] : doublings of seg_size\n"
	"USAGE:              [--duration <seconds>]    : again and again for so long\n"
	"USAGE:              [--timeout <seconds>]     : (60)\n";

static const char perf_tail[] = "USAGE:           <OP>\n"
				"USAGE:\n"
				"USAGE: Each OP consists of:\n"
				"USAGE:     <transfer_type> : \"RR\" (RDMA READ)\n"
				"USAGE:                     : \"RW\" (RDMA WRITE)\n"
				"USAGE:                     : \"SR\" (SEND/RECV, there and back)\n"
				"USAGE:     [seg_size [num_segs] ]      : (4096, 1)\n";

static const char quit_text[] = "USAGE: ---- QUIT TEST ----\n"
				"USAGE:     dapltest -T Q\n"
				"USAGE:              -s <server Name>\n"
				"USAGE:              [-n <server port number>]\n"
				"USAGE:              [-D <device Name>]\n"
				"USAGE:              [-d] : debug (zero)\n"
				"USAGE:              [--timeout <seconds>]     : (60)\n";

static const char limit_text[] = "USAGE: ---- LIMIT TEST ----\n"
				 "USAGE:     dapltest -T L\n"
				 "USAGE:              [-D <device Name>]\n"
				 "USAGE:              [-n <server port number>]\n"
				 "USAGE:              [-d] : debug (zero)\n"
				 "USAGE:              [-w <width_of_resource_sets>]\n"
				 "USAGE:              [-m <maximum_for_exhaustion_tests>]\n"
				 "USAGE:                  (1000 - Default)\n";

static const char limit_tail[] = "USAGE:              [limit_ia [limit_pz] [limit_evd] ... ]\n"
				 "NOTE: If test is not specified, do all the limit tests\n"
				 "NOTE: Else, just do the specified tests\n"
				 "NOTE: Each test is separated by space, the test can be:\n"
				 "NOTE: [limit_ia]         test max num  of  open IAs\n"
				 "NOTE: [limit_pz]         test max num  of  PZs\n"
				 "NOTE: [limit_cno]        test max num  of  CNOs\n"
				 "NOTE: [limit_evd]        test max num  of  EVDs\n"
				 "NOTE: [limit_rsp]        test max num  of  RSPs\n"
				 "NOTE: [limit_psp]        test max num  of  PSPs\n"
				 "NOTE: [limit_ep]         test max num  of  EPs\n"
				 "NOTE: [limit_lmr]        test max num  of  LMRs\n"
				 "NOTE: [limit_rpost]      test max num  of  recvs posted\n"
				 "NOTE: [limit_size_lmr]   test max size of  LMR\n";

static const char qos_text[] = "USAGE:              [-R <service reliability>]\n"
			       "USAGE:                  (BE == QOS_BEST_EFFORT - Default)\n"
			       "USAGE:                  (HT == QOS_HIGH_THROUGHPUT)\n"
			       "USAGE:                  (LL == QOS_LOW_LATENCY)\n"
			       "USAGE:                  (EC == QOS_ECONOMY)\n"
			       "USAGE:                  (PM == QOS_PREMIUM)\n";

void dt_usage(enum dt_test test, bool to_stderr)
{
	static const struct {
		const char *head;
		const char *qos;
		const char *tail;
	} texts[] = {
		[DT_TEST_NONE] = { general_text, "", "" },
		[DT_TEST_SERVER] = { server_text, qos_text, server_tail },
		[DT_TEST_QUIT] = { quit_text, qos_text, "" },
		[DT_TEST_TRANS] = { trans_text, qos_text, trans_tail },
		[DT_TEST_PERF] = { perf_text, qos_text, perf_tail },
		[DT_TEST_LIMIT] = { limit_text, qos_text, limit_tail },
		[DT_TEST_REGRESS] = { general_text, "", "" },
		[DT_TEST_REPORT] = { general_text, "", "" },
	};

	fprintf(to_stderr ? stderr : stdout, "%s%s%s", texts[test].head, texts[test].qos,
		texts[test].tail);
}

const char *dt_limit_name(enum dt_limit limit)
{
	static const char *const names[DT_LIMIT_COUNT] = {
		[DT_LIMIT_IA] = "limit_ia",	  [DT_LIMIT_PZ] = "limit_pz",
		[DT_LIMIT_CNO] = "limit_cno",	  [DT_LIMIT_EVD] = "limit_evd",
		[DT_LIMIT_EP] = "limit_ep",	  [DT_LIMIT_RSP] = "limit_rsp",
		[DT_LIMIT_PSP] = "limit_psp",	  [DT_LIMIT_LMR] = "limit_lmr",
		[DT_LIMIT_RPOST] = "limit_rpost", [DT_LIMIT_SIZE_LMR] = "limit_size_lmr",
	};

	return names[limit];
}

const char *dt_xfer_name(enum dt_xfer xfer)
{
	static const char *const names[] = {
		[DT_XFER_SR] = "SEND_RECV",
		[DT_XFER_RR] = "RDMA_READ",
		[DT_XFER_RW] = "RDMA_WRITE",
	};

	return names[xfer];
}
