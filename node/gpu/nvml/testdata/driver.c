/*
 * A driver's library with two GPUs that does as the file in DRIVER_MODE says:
 *   ok, unloaded (no driver in the kernel), lost (GPU 1 is gone), hang (calls for GPU 1 do
 *   not come back).
 * Like an old library it lacks the newer calls: whoever makes one is ended by the linker.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, UNLOADED = 9, TIMEOUT = 10, LOST = 15 };

static int mode_is(const char *want) {
	char text[32] = "";
	FILE *f = fopen(getenv("DRIVER_MODE"), "r");
	if (f) {
		if (!fgets(text, sizeof text, f)) text[0] = 0;
		fclose(f);
	}
	return strcmp(text, want) == 0;
}

/* A handle is the GPU's index plus one. */
static int talk(void *device) {
	if (device != (void *)2) return OK;
	while (mode_is("hang")) usleep(10000);
	return mode_is("lost") ? LOST : OK;
}

int nvmlInit_v2(void) { return mode_is("unloaded") ? UNLOADED : OK; }
const char *nvmlErrorString(int e) { return e == LOST ? "GPU is lost" : "some error"; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(size_t)(i + 1); return talk(*d); }
int nvmlDeviceGetUUID(void *d, char *s, unsigned n) { snprintf(s, n, "GPU-%zu", (size_t)d - 1); return talk(d); }
int nvmlDeviceGetName(void *d, char *s, unsigned n) { snprintf(s, n, "Some GPU"); return talk(d); }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *m) { m[0] = 16ull << 30; m[1] = 15ull << 30; m[2] = 1ull << 30; return talk(d); }
int nvmlDeviceGetPciInfo_v3(void *d, void *p) { (void)p; return talk(d); }
int nvmlDeviceGetNvLinkState(void *d, unsigned i, int *on) { (void)d; (void)i; (void)on; return UNSUPPORTED; }
int nvmlDeviceGetUtilizationRates(void *d, unsigned *u) { u[0] = 12; u[1] = 3; return talk(d); }
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *t) { (void)sensor; *t = 55; return talk(d); }
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { *mw = 70000; return talk(d); }
int nvmlDeviceGetClockInfo(void *d, int kind, unsigned *mhz) { *mhz = kind == 1 ? 1500 : 5000; return talk(d); }
int nvmlDeviceGetTotalEccErrors(void *d, int kind, int counter, unsigned long long *n) { (void)d; (void)kind; (void)counter; *n = 0; return UNSUPPORTED; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, void *list) { (void)list; *n = 0; return talk(d); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *n, void *list) { (void)list; *n = 0; return talk(d); }
int nvmlEventSetCreate(void **set) { *set = (void *)1; return OK; }
int nvmlEventSetFree(void *set) { (void)set; return OK; }
int nvmlDeviceRegisterEvents(void *d, unsigned long long kinds, void *set) { (void)kinds; (void)set; return talk(d); }
int nvmlEventSetWait_v2(void *set, void *data, unsigned ms) { (void)set; (void)data; usleep(ms * 100); return TIMEOUT; }
