// The part of node:test's events that the suite looks at.

export interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly nesting?: number;
    readonly name?: string;
    readonly file?: string | undefined;
    readonly message?: string;
    readonly skip?: string | boolean;
    readonly todo?: string | boolean;
  };
}
